import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DurableEvent, queueMessage } from '@matrix/protocol'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { findDamage } from './damage.ts'
import { readPage, tailSession } from './event-store.ts'
import { type FileSystem, nodeFileSystem, type OpenFile } from './file-system.ts'
import { type JsonlEventStore, openJsonlEventStore } from './jsonl-event-store.ts'

// Long enough for several chunks and a check on the other thread, with lines longer than a chunk among short ones.
const texts = Array.from(
  { length: 4000 },
  (_, n) => `${n + 1} ${(n % 3 ? 'x' : 'é').repeat(n % 1700 === 1600 ? 1_500_000 : (n * 31) % 900)}`,
)
const ts = '2026-01-01T00:00:00.000Z'
let directory: string
let copy: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'event-store-long-'))
  const store = await openJsonlEventStore(directory, { durability: 'relaxed' })
  const fence = await store.claim('long', 'me')
  for (let at = 0; at < texts.length; at += 100) await store.append('long', fence, texts.slice(at, at + 100).map(said))
  await store.close()
})
afterAll(() => rm(directory, { recursive: true, force: true }))

test('a long session comes back whole', async () => {
  const store = await open()

  expect(await read(store, 'long')).toEqual(texts)
})

test('a page anywhere in a long session is found without reading it all', async () => {
  const store = await open()

  for (const before of [2, 101, 1601, 1602, 1603, 2500, 3301, 3302, 4001]) {
    const { events } = await readPage(store, 'long', { before, limit: 3 })
    expect(events.map(({ event }) => (event as { text: string }).text)).toEqual(
      texts.slice(Math.max(0, before - 4), before - 1),
    )
  }
})

test('a flipped bit deep in a long session is found at its line', async () => {
  const bytes = await readFile(join(directory, 'long.jsonl'))
  const at = bytes.indexOf('"3000 ') + 2
  bytes[at] = (bytes[at] as number) ^ 1
  const store = await openWith('long', bytes)

  const error = await read(store, 'long').catch((caught) => caught)
  expect(findDamage(error)).toMatchObject({ kind: 'flipped', line: 3001, fix: { offset: at } })
})

test('resuming from a long session reads only its active part', async () => {
  const store = await openWith('long', await readFile(join(directory, 'long.jsonl')))
  const fence = await store.claim('long', 'me')
  await store.append('long', fence, [{ type: 'compact_marker', taskId: 't', ts, checkpoint: 'short' }, said('after')])
  let bytesRead = 0
  const addRead = (count: number) => {
    bytesRead += count
  }
  const counting = await openJsonlEventStore(copy, { fileSystem: countReads(addRead) })

  expect(await counting.readActive('long')).toHaveLength(2)
  expect(bytesRead).toBeLessThan(1_000_000)
})

test('whether a message is there is looked up in the file once, and known from then on', async () => {
  await openWith('long', await readFile(join(directory, 'long.jsonl')))
  let bytesRead = 0
  const addRead = (count: number) => {
    bytesRead += count
  }
  const store = await openJsonlEventStore(copy, { fileSystem: countReads(addRead) })
  const fence = await store.claim('long', 'me')
  expect(await store.hasMessage('long', 'm1')).toBe(false)
  await store.append('long', fence, [
    { type: 'message', taskId: 't', ts, message: queueMessage.user({ id: 'm1', text: 'Hello' }) },
  ])
  bytesRead = 0

  expect(await store.hasMessage('long', 'm1')).toBe(true)
  expect(await store.hasMessage('long', 'm2')).toBe(false)
  expect(bytesRead).toBe(0)
})

test('a live tail is woken by an append, not by its clock', async () => {
  const store = await openWith('none', Buffer.alloc(0))
  const fence = await store.claim('live', 'me')
  const stop = new AbortController()
  const tail = tailSession(store, 'live', { signal: stop.signal, pollMs: 3_600_000 })
  const first = tail.next()
  await store.append('live', fence, [said('now')])

  expect((await first).value).toMatchObject([{ seq: 1 }])
  stop.abort()
  await tail.return(undefined)
})

test('an event that is too long to store is refused', async () => {
  const store = await openWith('none', Buffer.alloc(0))
  const fence = await store.claim('big', 'me')

  await expect(store.append('big', fence, [said('x'.repeat(64 * 1024 * 1024))])).rejects.toMatchObject({
    code: 'EVENT_INVALID',
  })
})

test('what is appended is plain JSON, one event per line, that anybody can read', async () => {
  const store = await openWith('none', Buffer.alloc(0))
  await store.append('plain', await store.claim('plain', 'me'), [said('hello'), said('you')])
  const lines = (await readFile(join(copy, 'plain.jsonl'), 'utf8')).trimEnd().split('\n')

  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { seq: 0, format: 'matrix-session', v: 1, sessionId: 'plain' },
    { seq: 1, more: 1, event: said('hello') },
    { seq: 2, event: said('you') },
  ])
  expect(lines.every((line) => /,"sum":"[0-9a-f]{32}"\}$/.test(line))).toBe(true)
  expect((await stat(join(copy, 'plain.jsonl'))).mode & 0o077).toBe(0)
})

async function open(at = directory): Promise<JsonlEventStore> {
  const store = await openJsonlEventStore(at)
  onTestFinished(() => store.close())
  return store
}

async function openWith(sessionId: string, bytes: Buffer): Promise<JsonlEventStore> {
  copy = await mkdtemp(join(tmpdir(), 'event-store-long-'))
  onTestFinished(() => rm(copy, { recursive: true, force: true }))
  await writeFile(join(copy, `${sessionId}.jsonl`), bytes)
  return open(copy)
}

async function read(store: JsonlEventStore, sessionId: string): Promise<string[]> {
  const found: string[] = []
  for await (const batch of store.read(sessionId))
    for (const { event } of batch) found.push((event as { text: string }).text)
  return found
}

function countReads(onRead: (bytes: number) => void): FileSystem {
  return {
    ...nodeFileSystem,
    async open(path, mode) {
      const file = await nodeFileSystem.open(path, mode)
      const readCounted: OpenFile['read'] = async (target, position) => {
        const count = await file.read(target, position)
        onRead(count)
        return count
      }
      return { ...file, read: readCounted }
    },
  }
}

function said(text: string): DurableEvent {
  return { type: 'assistant_text', taskId: 't', ts, text }
}
