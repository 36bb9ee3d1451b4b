import type { MessagePort } from 'node:worker_threads'
import type { Database } from './sqlite.ts'

/** How far the words of a session, or of an archive, have been read: to `size`, after the line with this seq and sum. */
export type Source = { name: string; sessionId: string; size: number; seq: number; sum: string }

/** What is searched of one event, and where its line is. */
export type Entry = {
  seq: number
  type: string
  ts: string
  task: string
  offset: number
  length: number
  text: string
}

export type WordsQuery = {
  match: string
  sessionId: string | null
  since: string | null
  until: string | null
  /** Only entries that were read in before this one. */
  below: number
  limit: number
}

export type FoundEntry = Omit<Entry, 'task' | 'text'> & { id: number; name: string }

/** What the thread can be asked, and what it answers. */
export type WordsCalls = {
  sources: { ask: undefined; answer: Source[] }
  /** Answers whether it was committed. */
  add: { ask: { source: Source; entries: Entry[] }; answer: boolean }
  commit: { ask: undefined; answer: undefined }
  forget: { ask: string; answer: undefined }
  rename: { ask: { from: string; to: string }; answer: undefined }
  find: { ask: WordsQuery; answer: FoundEntry[] }
  close: { ask: undefined; answer: undefined }
}

/**
 * Answers calls until it is closed. It travels to its thread as text, so it uses nothing but its arguments, and its
 * functions are methods: around any other a bundler may put a helper that is not there.
 */
export function serveWords(port: MessagePort, database: Database, commitEvery: number): void {
  const statements = {
    sources: database.prepare('SELECT name, session_id AS sessionId, size, seq, sum FROM source'),
    source: database.prepare('SELECT id FROM source WHERE name = ?'),
    setSource:
      database.prepare(`INSERT INTO source (name, session_id, size, seq, sum) VALUES (@name, @sessionId, @size, @seq, @sum)
      ON CONFLICT (name) DO UPDATE SET size = excluded.size, seq = excluded.seq, sum = excluded.sum`),
    entry: database.prepare(`INSERT INTO entry (source, seq, type, ts, offset, length)
      VALUES (@source, @seq, @type, @ts, @offset, @length)`),
    said: database.prepare('INSERT INTO said (rowid, text, session, task, type) VALUES (?, ?, ?, ?, ?)'),
    unsay: database.prepare('DELETE FROM said WHERE rowid IN (SELECT id FROM entry WHERE source = ?)'),
    removeEntries: database.prepare('DELETE FROM entry WHERE source = ?'),
    removeSource: database.prepare('DELETE FROM source WHERE id = ?'),
    rename: database.prepare('UPDATE source SET name = ? WHERE name = ?'),
    find: database.prepare(`SELECT entry.id, source.name, entry.seq, entry.type, entry.ts, entry.offset, entry.length
      FROM said JOIN entry ON entry.id = said.rowid JOIN source ON source.id = entry.source
      WHERE said MATCH @match
        AND (@sessionId IS NULL OR source.session_id = @sessionId)
        AND (@since IS NULL OR entry.ts >= @since) AND (@until IS NULL OR entry.ts < @until)
        AND said.rowid < @below
      ORDER BY said.rowid DESC LIMIT @limit`),
  }
  let uncommitted = 0

  const calls = {
    sources() {
      return statements.sources.all()
    },
    add({ source, entries }: WordsCalls['add']['ask']) {
      // Each commit of words is a piece to be merged later, so many calls share one.
      if (!database.inTransaction) database.exec('BEGIN')
      statements.setSource.run(source)
      const { id } = statements.source.get(source.name) as { id: number }
      for (const entry of entries) {
        const { lastInsertRowid } = statements.entry.run({ ...entry, source: id })
        statements.said.run(lastInsertRowid, entry.text, source.sessionId, entry.task, entry.type)
      }
      uncommitted += entries.length
      if (uncommitted < commitEvery) return false
      calls.commit()
      return true
    },
    commit() {
      if (database.inTransaction) database.exec('COMMIT')
      uncommitted = 0
    },
    forget(name: string) {
      const { id } = (statements.source.get(name) ?? { id: undefined }) as { id: number | undefined }
      if (id === undefined) return
      if (!database.inTransaction) database.exec('BEGIN')
      statements.unsay.run(id)
      statements.removeEntries.run(id)
      statements.removeSource.run(id)
      calls.commit()
    },
    rename({ from, to }: WordsCalls['rename']['ask']) {
      statements.rename.run(to, from)
      calls.commit()
    },
    find(query: WordsQuery) {
      return statements.find.all(query)
    },
    close() {
      calls.commit()
      database.close()
    },
  }

  port.on('message', ({ id, call, ask }: { id: number; call: keyof typeof calls; ask: never }) => {
    try {
      port.postMessage({ id, answer: calls[call](ask) })
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      port.postMessage({ id, error: { code, message } })
    }
    if (call === 'close') port.close()
  })
}
