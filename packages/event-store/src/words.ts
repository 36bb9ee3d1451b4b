import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { keepPrivate, removeDatabase } from './index-database.ts'
import { sqlitePackage } from './sqlite.ts'
import type { FoundEntry, Source, WordsCalls, WordsQuery } from './words-thread.ts'
import { serveWords } from './words-thread.ts'

// Raised whenever a table changes: words of another version are thrown away and read in again.
const SCHEMA_VERSION = 1

const schema = `
CREATE TABLE source (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL,
  size INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  sum TEXT NOT NULL
);
CREATE TABLE entry (
  id INTEGER PRIMARY KEY,
  source INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  ts TEXT NOT NULL,
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL
);
CREATE INDEX entry_source ON entry (source);
CREATE VIRTUAL TABLE said USING fts5 (
  text, session, task, type,
  content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2 tokenchars '_'"
);
-- Fewer and larger pieces: half the time goes into merging them.
INSERT INTO said (said, rank) VALUES ('hashsize', 67108864), ('automerge', 8);
PRAGMA user_version = ${SCHEMA_VERSION};
`

const COMMIT_EVERY = 32_768

/**
 * The words of every session, in a database and a thread of their own: taking them in costs ten times what reading them
 * does. Searches have another thread, so that none waits for a commit; they see what was committed.
 */
export type Words = {
  /** How far each session has been read, as far as it was asked for; kept up to date. */
  readonly sources: ReadonlyMap<string, Source>
  /** How many bytes of the sessions a search looks through. */
  searched(): number
  /** Takes in what stands between where the source was and where it is now. */
  add(source: Source, entries: WordsCalls['add']['ask']['entries']): Promise<void>
  forget(name: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  find(query: WordsQuery): Promise<FoundEntry[]>
  /** Makes what was taken in so far survive the end of the process, and searches find it. */
  commit(): Promise<void>
  close(): Promise<void>
}

/** Opens the words, or none in their place when the file is missing, of another version or damaged. */
export async function openWords(file: string): Promise<Words> {
  try {
    return await openThread(file)
  } catch {
    await removeDatabase(file)
    return openThread(file)
  }
}

async function openThread(file: string): Promise<Words> {
  await keepPrivate(file)
  const thread = startThread(file)
  const known = await thread.call('sources', undefined).catch(async (error) => {
    await thread.stop()
    throw error
  })
  const sources = new Map(known.map((source) => [source.name, source]))
  let searched = 0
  const committed = () => {
    searched = [...sources.values()].reduce((sum, { size }) => sum + size, 0)
  }
  committed()
  // Most programs never search.
  let finder: WordsThread | undefined
  // A search must not come upon names that nobody has any more.
  let naming: Promise<unknown> = Promise.resolve()

  return {
    sources,
    searched: () => searched,
    async add(source, entries) {
      const isCommitted = await thread.call('add', { source, entries })
      sources.set(source.name, source)
      if (isCommitted) committed()
    },
    async forget(name) {
      if (!sources.delete(name)) return
      naming = thread.call('forget', name)
      await naming
      committed()
    },
    async rename(from, to) {
      const source = sources.get(from)
      if (!source) return
      sources.delete(from)
      sources.set(to, { ...source, name: to })
      naming = thread.call('rename', { from, to })
      await naming
      committed()
    },
    async find(query) {
      await naming
      finder ??= startThread(file)
      return finder.call('find', query)
    },
    async commit() {
      await thread.call('commit', undefined)
      committed()
    },
    async close() {
      // Whoever closes the file last tidies it up, and that must be the one who wrote.
      for (const each of [finder, thread]) {
        await each?.call('close', undefined).catch(() => undefined)
        await each?.stop()
      }
    },
  }
}

type WordsThread = {
  call<Call extends keyof WordsCalls>(call: Call, ask: WordsCalls[Call]['ask']): Promise<WordsCalls[Call]['answer']>
  stop(): Promise<void>
}

// Text reaches a thread the same way from TypeScript, from the published files and from inside a bundle. SQLite is found
// here, because the text has no place of its own to look from.
const threadSource = `
const { parentPort, workerData } = require('node:worker_threads')
const Database = require(workerData.sqlite)
const database = new Database(workerData.file)
database.pragma('journal_mode = WAL')
database.pragma('synchronous = NORMAL')
database.pragma('journal_size_limit = 67108864')
database.pragma('cache_size = -32768')
const version = database.pragma('user_version', { simple: true })
if (version === 0) database.exec(workerData.schema)
else if (version !== workerData.version) throw new Error('another version')
;(${serveWords.toString()})(parentPort, database, workerData.commitEvery)
`

function startThread(file: string): WordsThread {
  const sqlite = createRequire(import.meta.url).resolve(sqlitePackage)
  const workerData = { file, sqlite, schema, version: SCHEMA_VERSION, commitEvery: COMMIT_EVERY }
  const worker = new Worker(threadSource, { eval: true, workerData })
  const waiting = new Map<number, { resolve(answer: never): void; reject(error: Error): void }>()
  let lastId = 0
  let ended: Error | undefined

  // An idle thread must not keep a finished program alive; one with work to do must.
  worker.unref()
  worker.on('message', ({ id, answer, error }) => {
    const one = waiting.get(id)
    waiting.delete(id)
    if (waiting.size === 0) worker.unref()
    if (error) one?.reject(Object.assign(new Error(error.message), { code: error.code }))
    else one?.resolve(answer as never)
  })
  const end = (error: Error) => {
    ended ??= error
    for (const one of waiting.values()) one.reject(error)
    waiting.clear()
  }
  worker.on('error', end)
  worker.on('exit', () => end(new Error('The search thread has ended.')))

  return {
    call(call, ask) {
      if (ended) return Promise.reject(ended)
      lastId += 1
      const id = lastId
      worker.ref()
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        worker.postMessage({ id, call, ask })
      })
    },
    async stop() {
      await worker.terminate()
    },
  }
}
