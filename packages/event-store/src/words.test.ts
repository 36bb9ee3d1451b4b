import { chmod, mkdir, mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DurableEvent } from '@matrix/protocol'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from './clock.ts'
import { type DataStore, type OpenOptions, openEventStore } from './open-event-store.ts'
import { loadSqlite } from './sqlite.ts'
import { openWords } from './words.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'event-store-words-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
})

test('while words are being read in, a search says how far it is, and the event loop goes on', async () => {
  const store = await open()
  for (let n = 0; n < 20; n += 1) await append(store, `s${n}`, ...Array.from({ length: 200 }, () => said(long)))
  await store.close()
  await forgetAll()
  const again = await open()
  const before = performance.eventLoopUtilization()
  const caughtUp = again.index.catchUp()
  const early = await again.index.search('needle')
  await caughtUp
  const { utilization } = performance.eventLoopUtilization(before)
  const late = await again.index.search('needle', { limit: 5000 })

  expect(early.complete).toBe(false)
  expect(early.progress.done).toBeLessThan(early.progress.total)
  expect(late).toMatchObject({ complete: true, progress: { done: early.progress.total, total: early.progress.total } })
  expect(late.hits).toHaveLength(4000)
  // Taking the words in is most of the work, and it is done in a thread of its own.
  expect(utilization).toBeLessThan(0.8)
})

test('what is appended while older words are read in is found before they all are', async () => {
  const store = await open()
  for (let n = 0; n < 20; n += 1) await append(store, `s${n}`, ...Array.from({ length: 200 }, () => said(long)))
  await store.close()
  await forgetAll()
  // So much happens between two looks at the clock that what is new is always due.
  let now = 0
  const clock = { ...systemClock, now: () => (now += 1000) }
  const again = await open({ clock })
  const caughtUp = again.index.catchUp()
  await append(again, 'now', said('something fresh'))
  let found = await again.index.search('fresh')
  while (found.hits.length === 0 && !found.complete) found = await again.index.search('fresh')

  expect(found).toMatchObject({ complete: false, hits: [{ sessionId: 'now' }] })
  expect(found.progress.done).toBeLessThan(found.progress.total)
  await caughtUp
})

test('a search waits for nobody who writes words', async () => {
  const opened = await openWords(words())
  onTestFinished(() => opened.close())
  const source = { name: 'a', sessionId: 'a', size: 100, seq: 1, sum: '' }
  const entry = { type: 'assistant_text', ts: '2026-01-01T00:00:00.000Z', task: 't', offset: 0, length: 100 }
  await opened.add(source, [{ ...entry, seq: 1, text: 'needle' }])
  await opened.commit()
  const Database = await loadSqlite()
  const someone = new Database(words())
  someone.exec('BEGIN IMMEDIATE')
  const adding = opened.add({ ...source, size: 200, seq: 2 }, [{ ...entry, seq: 2, text: 'needle' }])
  const query = { match: 'needle', sessionId: null, since: null, until: null, below: 9, limit: 9 }
  const first = await Promise.race([opened.find(query), adding.catch(() => undefined)])
  someone.close()

  expect(first).toMatchObject([{ name: 'a', seq: 1 }])
  expect(opened.searched()).toBe(100)
  await adding
})

test.each([
  ['missing', async () => rm(words())],
  ['not a database', async () => writeFile(words(), 'words of another kind'.repeat(500))],
  ['cut short', async () => truncate(words(), 8192)],
])('words that are %s are read in again', async (_, harm) => {
  const store = await open()
  await append(store, 'a', said('needle one'), said('needle two'))
  await store.index.catchUp()
  await store.close()
  await harm()
  const again = await open()
  await again.index.catchUp().catch(() => again.index.catchUp())

  expect((await again.index.search('needle')).hits).toHaveLength(2)
})

test('words that were half read in are continued, not repeated', async () => {
  const store = await open()
  await append(store, 'a', said('needle one'))
  await store.index.catchUp()
  await append(store, 'a', said('needle two'))
  await store.close()
  await rm(join(directory, 'index.sqlite'))
  const again = await open()
  await again.index.catchUp()

  expect((await again.index.search('needle')).hits.map(({ seq }) => seq)).toEqual([2, 1])
})

test('words of a file that was replaced are forgotten, and its session is not taken for damaged', async () => {
  const store = await open()
  await append(store, 'a', said('needle in the first file'))
  await store.index.catchUp()
  await store.close()
  const other = await mkdtemp(join(tmpdir(), 'event-store-words-'))
  onTestFinished(() => rm(other, { recursive: true, force: true }))
  const elsewhere = await openEventStore(other)
  await append(elsewhere, 'a', said('hay'), said('more hay, and needle last'))
  await elsewhere.close()
  await writeFile(join(directory, 'sessions', 'a.jsonl'), await readFile(join(other, 'sessions', 'a.jsonl')))
  await rm(join(directory, 'index.sqlite'))
  const again = await open()
  await again.index.catchUp()

  expect((await again.index.search('needle')).hits.map(({ seq }) => seq)).toEqual([2])
  await append(again, 'a', said('on'))
})

test('an archive is searched once, whether it was put away before or after its words were read in', async () => {
  const store = await open()
  await append(store, 'a', said('needle'), said('more'))
  await store.archiveSession('a')
  expect((await store.index.search('needle')).hits).toHaveLength(1)
  await store.close()
  await forgetAll()
  const again = await open()
  await again.index.catchUp()

  expect((await again.index.search('needle')).hits).toMatchObject([{ sessionId: 'a', seq: 1 }])
})

test('words that cannot be stored hold up no append, are named, and are there once they can be', async () => {
  await mkdir(words())
  const store = await open()
  await append(store, 'a', said('needle'))
  await expect(store.index.search('needle')).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: expect.stringContaining(words()),
  })
  await append(store, 'a', said('another needle'))
  await expect(store.index.catchUp()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })

  await rm(words(), { recursive: true })
  await store.index.catchUp()
  expect((await store.index.search('needle')).hits).toHaveLength(2)
})

test('a data directory may have any name', async () => {
  directory = join(directory, 'it\'s a "data"\n directory, für alle %20 #1?x')
  const store = await open()
  await append(store, 'a', said('needle'))
  await store.index.catchUp()
  await store.close()
  const again = await open()

  expect((await again.index.search('needle')).hits).toHaveLength(1)
})

test('nobody else on the machine can read what was said, in whichever file', async () => {
  await chmod(directory, 0o755)
  const store = await open()
  await append(store, 'a', said('between us'))
  await store.index.catchUp()
  const files = ['index.sqlite', 'index.sqlite-wal', 'words.sqlite', 'words.sqlite-wal', join('sessions', 'a.jsonl')]
  const modes = await Promise.all(files.map(async (file) => (await stat(join(directory, file))).mode & 0o077))

  expect(modes).toEqual(files.map(() => 0))
})

const long = `needle ${'the quick brown fox jumps over the lazy dog '.repeat(40)}`
const words = () => join(directory, 'words.sqlite')

async function forgetAll(): Promise<void> {
  for (const name of ['index.sqlite', 'words.sqlite']) await rm(join(directory, name), { force: true })
}

async function open(options: OpenOptions = {}): Promise<DataStore> {
  const store = await openEventStore(directory, options)
  onTestFinished(() => store.close().catch(() => undefined))
  return store
}

async function append(store: DataStore, sessionId: string, ...events: DurableEvent[]): Promise<void> {
  const fence = await store.claim(sessionId, 'test')
  await store.append(sessionId, fence, events)
  await store.release(sessionId, fence)
}

function said(text: string): DurableEvent {
  return { type: 'assistant_text', taskId: 't', ts: '2026-01-01T00:00:00.000Z', text }
}
