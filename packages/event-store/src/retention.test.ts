import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DurableEvent } from '@matrix/protocol'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type DataStore, openEventStore } from './open-event-store.ts'

let directory: string
let store: DataStore
beforeEach(async () => {
  directory = await temporary()
  store = await open(directory)
})

test('an archived session is compressed, still found, and restored byte for byte', async () => {
  await append('a', ...Array.from({ length: 200 }, (_, n) => said(`needle ${n} ${'again '.repeat(50)}`)))
  const bytes = await readFile(file('a'))
  const archive = await store.archiveSession('a')

  expect(existsSync(file('a'))).toBe(false)
  expect((await readFile(join(directory, 'archive', archive))).byteLength).toBeLessThan(bytes.byteLength / 5)
  const { hits } = await store.index.search('"needle 7"')
  expect(hits).toMatchObject([{ sessionId: 'a', seq: 8, snippet: { text: expect.stringContaining('needle 7') } }])
  expect(store.index.sessions()).toMatchObject([{ sessionId: 'a', archive }])

  expect(await store.restoreSession(archive)).toBe('a')
  expect(await readFile(file('a'))).toEqual(bytes)
  await append('a', said('goes on'))
  await store.index.catchUp()
  expect(store.index.findSession('a')).toMatchObject({ lastSeq: 201, archive: undefined })
})

test('an archived id is free again, and both are kept', async () => {
  await append('a', said('first life'))
  const archive = await store.archiveSession('a')
  await append('a', said('second life'))
  await store.index.catchUp()

  expect((await store.index.search('life')).hits.map(({ snippet }) => snippet.text)).toEqual([
    'second life',
    'first life',
  ])
  await expect(store.restoreSession(archive)).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
  expect(existsSync(join(directory, 'archive', archive))).toBe(true)
})

test('two lives of the same length are two archives', async () => {
  await append('a', said('first life'))
  const first = await store.archiveSession('a')
  await append('a', said('second life'))
  const second = await store.archiveSession('a')

  expect(second).not.toBe(first)
  expect((await store.index.search('life')).hits).toHaveLength(2)
  await store.restoreSession(first)
  expect(await store.readActive('a')).toEqual([said('first life')])
})

test('an archive that a crash left beside its session counts once, and archiving goes on', async () => {
  await append('a', said('needle'), paid(2))
  const bytes = await readFile(file('a'))
  const archive = await store.archiveSession('a')
  await store.close()
  await writeFile(file('a'), bytes)
  store = await open(directory)
  await store.index.catchUp()

  expect(store.index.costs([])).toMatchObject([{ usd: 2 }])
  expect((await store.index.search('needle')).hits).toHaveLength(1)
  expect(await store.archiveSession('a')).toBe(archive)
  await store.index.catchUp()
  expect(store.index.costs([])).toMatchObject([{ usd: 2 }])
  expect(store.index.sessions()).toMatchObject([{ sessionId: 'a', archive }])
})

test('a session is not restored under the hands of somebody who has begun a new one', async () => {
  await append('a', said('first life'))
  const archive = await store.archiveSession('a')
  const fence = await store.claim('a', 'agent')
  await expect(store.restoreSession(archive)).rejects.toMatchObject({ code: 'SESSION_FENCED' })
  await store.release('a', fence)
  expect(await store.readActive('a')).toEqual([])

  await store.restoreSession(archive)
  await append('a', said('goes on'))
  expect(await store.readActive('a')).toEqual([said('first life'), said('goes on')])
})

test('an index that is made again knows the archives too', async () => {
  await append('a', said('needle in the archive'))
  const archive = await store.archiveSession('a')
  await store.close()
  await rm(join(directory, 'index.sqlite'))
  store = await open(directory)
  await store.index.catchUp()

  expect(store.index.sessions()).toMatchObject([{ sessionId: 'a', archive, lastSeq: 1 }])
  expect((await store.index.search('needle', { sessionId: 'a' })).hits).toHaveLength(1)
})

test('a session that somebody owns is archived only by its owner', async () => {
  const fence = await store.claim('a', 'agent')
  await store.append('a', fence, [said('busy')])

  await expect(store.archiveSession('a')).rejects.toMatchObject({
    code: 'SESSION_FENCED',
    message: expect.stringContaining('agent'),
  })
  await store.archiveSession('a', fence)
  await expect(store.append('a', fence, [said('late')])).rejects.toMatchObject({ code: 'SESSION_FENCED' })
})

test('the newest finished sessions are kept, and unfinished ones always', async () => {
  for (const [id, day] of [
    ['old', '01'],
    ['older', '00'],
    ['new', '02'],
  ] as const)
    await append(id, said('x', day), ended(day))
  await append('working', said('x', '00'))

  expect((await store.keepSessions(1)).map((name) => name.split('-')[0])).toEqual(['old', 'older'])
  expect(await store.listSessions()).toEqual(['new', 'working'])
})

test.each(['a.jsonl', 'a.jsonl.gz'])('a session exported as %s opens elsewhere', async (name) => {
  await append('a', said('hello'), said('world'))
  await store.exportSession('a', join(directory, name))
  const elsewhere = await open(await temporary())

  expect(await elsewhere.importSession(join(directory, name))).toBe('a')
  expect(await elsewhere.readActive('a')).toEqual([said('hello'), said('world')])
  await elsewhere.index.catchUp()
  expect((await elsewhere.index.search('world')).hits).toHaveLength(1)
  await expect(elsewhere.importSession(join(directory, name))).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
})

test.each([
  ['damaged', (bytes: Buffer) => Buffer.from(bytes.toString().replace('hello', 'hallo')), 'SESSION_CORRUPT'],
  ['cut off', (bytes: Buffer) => bytes.subarray(0, -20), 'SESSION_CORRUPT'],
  ['not a session', () => Buffer.from('{"hello":1}\n'), 'SESSION_CORRUPT'],
  ['empty', () => Buffer.alloc(0), 'SESSION_CORRUPT'],
  ['damaged gzip', () => Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3, 4, 5, 6, 7]), 'SESSION_CORRUPT'],
])('a file that is %s is not imported, and leaves nothing behind', async (_, harm, code) => {
  await append('a', said('hello'))
  const elsewhere = await temporary()
  const other = await open(elsewhere)
  await writeFile(join(directory, 'x.jsonl'), harm(await readFile(file('a'))))

  await expect(other.importSession(join(directory, 'x.jsonl'))).rejects.toMatchObject({ code })
  await expect(other.importSession(join(directory, 'missing'))).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  expect(await other.listSessions()).toEqual([])
})

test('a session that is not there cannot be archived or exported', async () => {
  await expect(store.archiveSession('nobody')).rejects.toMatchObject({ code: 'SESSION_UNKNOWN' })
  await expect(store.exportSession('nobody', join(directory, 'x'))).rejects.toMatchObject({ code: 'SESSION_UNKNOWN' })
})

async function temporary(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'event-store-keep-'))
  onTestFinished(() => rm(made, { recursive: true, force: true }))
  return made
}

async function open(at: string): Promise<DataStore> {
  const opened = await openEventStore(at)
  onTestFinished(() => opened.close().catch(() => undefined))
  return opened
}

async function append(sessionId: string, ...events: DurableEvent[]): Promise<void> {
  const fence = await store.claim(sessionId, 'test')
  await store.append(sessionId, fence, events)
  await store.release(sessionId, fence)
}

const file = (sessionId: string) => join(directory, 'sessions', `${sessionId}.jsonl`)

function said(text: string, day = '01'): DurableEvent {
  return { type: 'assistant_text', taskId: 't', ts: `2026-01-${day}T00:00:00.000Z`, text }
}
function paid(costUsd: number): DurableEvent {
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
  const ts = '2026-01-01T00:00:00.000Z'
  return { type: 'turn_completed', taskId: 't', ts, model: 'm', stopReason: 'end_turn', usage, costUsd }
}
function ended(day: string): DurableEvent {
  const ts = `2026-01-${day}T00:00:01.000Z`
  return {
    type: 'orchestration_completed',
    taskId: 't',
    ts,
    exitReason: 'done_passed',
    output: '',
    costUsd: 0,
    turns: 1,
  }
}
