import type { DurableEvent } from '@matrix/protocol'
import { openCostWriter } from './cost.ts'
import type { Damage } from './damage.ts'
import { eventText } from './event-text.ts'
import { applyResumeEvent, emptyResumeFold, type ResumeFold, type ResumeState, resumeStateOf } from './resume-state.ts'
import type { LineBatch } from './session-reader.ts'
import type { Database } from './sqlite.ts'
import { isKnown } from './stored-event.ts'

export type SessionRow = {
  id: number
  name: string
  session_id: string
  size: number
  seq: number
  sum: string
  status: ResumeState | 'corrupt'
  damage: string | null
  fold: string
  first_at: string | null
  last_at: string | null
  archive: string | null
  searched: number
  searched_seq: number
}

/** The writing half of the index. Every call happens whole or not at all: after a crash the index is behind, never wrong. */
export type IndexTables = {
  /** Lets calls share one transaction until so many texts are in it: each commit of words is a piece to be merged later. */
  begin(): void
  commit(): void
  rows(): SessionRow[]
  find(name: string): SessionRow | undefined
  ensure(name: string, origin?: { sessionId: string; archive: string }): SessionRow
  /** Takes the lines that follow what is known of a session into its summary and costs. */
  addLines(row: SessionRow, batch: LineBatch): SessionRow
  /** Makes these lines of a batch searchable. */
  addText(row: SessionRow, batch: LineBatch, range: { from: number; to: number }): SessionRow
  setDamage(name: string, damage: Damage): void
  /** Moves what is known of a session to its archive, or back. */
  setArchive(sessionId: string, archive: string): void
  clearArchive(sessionId: string, archive: string): void
  forget(name: string): void
}

export function openIndexTables(database: Database): IndexTables {
  const costs = openCostWriter(database)
  const statements = prepare(database)

  function addLines(row: SessionRow, { lines, end }: LineBatch): SessionRow {
    let fold: ResumeFold = row.fold ? JSON.parse(row.fold) : emptyResumeFold()
    let { first_at, last_at } = row
    for (const { event } of lines) {
      if (!event) continue
      first_at ??= event.ts
      last_at = event.ts
      if (!isKnown(event)) continue
      fold = applyResumeEvent(fold, event)
      if (event.type === 'turn_completed') costs.add(row.id, event)
      // What stands before a fork marker was inherited, and somebody else has paid for it.
      if (event.type === 'fork_marker') costs.forget(row.id)
    }
    const last = lines.at(-1)
    const next: SessionRow = {
      ...{ ...row, first_at, last_at, size: end, seq: last?.seq ?? row.seq, sum: last?.sum ?? row.sum },
      status: resumeStateOf(fold),
      fold: JSON.stringify(fold),
    }
    statements.update.run(next)
    return next
  }

  function addText(
    row: SessionRow,
    { lines, starts, end }: LineBatch,
    { from, to }: { from: number; to: number },
  ): SessionRow {
    for (let index = from; index < to; index += 1) {
      const { seq, event } = lines[index] as LineBatch['lines'][number]
      const offset = starts[index] as number
      const length = (starts[index + 1] ?? end) - offset - 1
      if (event && isKnown(event)) addEntry(row, event, { seq, offset, length })
    }
    const next = { ...row, searched: starts[to] ?? end, searched_seq: lines[to - 1]?.seq ?? row.searched_seq }
    statements.searched.run(next)
    return next
  }

  function addEntry(
    row: SessionRow,
    event: DurableEvent,
    place: { seq: number; offset: number; length: number },
  ): void {
    const text = eventText(event)
    if (text === '') return
    const { lastInsertRowid } = statements.entry.run({ session: row.id, type: event.type, ts: event.ts, ...place })
    statements.said.run(lastInsertRowid, text, row.session_id, event.taskId, event.type)
  }

  function forget(name: string): void {
    const row = statements.find.get(name) as SessionRow | undefined
    if (!row) return
    statements.unsay.run(row.id)
    statements.removeEntries.run(row.id)
    costs.forget(row.id)
    statements.remove.run(row.id)
  }

  return {
    begin() {
      if (!database.inTransaction) database.exec('BEGIN')
    },
    commit() {
      if (database.inTransaction) database.exec('COMMIT')
    },
    rows: () => statements.rows.all() as SessionRow[],
    find: (name) => statements.find.get(name) as SessionRow | undefined,
    ensure(name, { sessionId, archive } = { sessionId: name, archive: '' }) {
      statements.add.run(name, sessionId, archive || null)
      return statements.find.get(name) as SessionRow
    },
    addLines: database.transaction(addLines),
    addText: database.transaction(addText),
    setDamage: (name, damage) => void statements.damage.run(JSON.stringify(damage), name),
    setArchive: (sessionId, archive) => void statements.archive.run(archive, archive, sessionId),
    clearArchive: (sessionId, archive) => void statements.archive.run(sessionId, null, archive),
    forget: database.transaction(forget),
  }
}

function prepare(database: Database) {
  return {
    rows: database.prepare('SELECT * FROM session ORDER BY name'),
    find: database.prepare('SELECT * FROM session WHERE name = ?'),
    add: database.prepare('INSERT OR IGNORE INTO session (name, session_id, archive) VALUES (?, ?, ?)'),
    update: database.prepare(`UPDATE session SET size = @size, seq = @seq, sum = @sum, status = @status, fold = @fold,
      first_at = @first_at, last_at = @last_at, damage = NULL WHERE id = @id`),
    searched: database.prepare('UPDATE session SET searched = @searched, searched_seq = @searched_seq WHERE id = @id'),
    damage: database.prepare(`UPDATE session SET status = 'corrupt', damage = ? WHERE name = ?`),
    archive: database.prepare('UPDATE session SET name = ?, archive = ? WHERE name = ?'),
    remove: database.prepare('DELETE FROM session WHERE id = ?'),
    entry: database.prepare(`INSERT INTO entry (session, seq, type, ts, offset, length)
      VALUES (@session, @seq, @type, @ts, @offset, @length)`),
    said: database.prepare('INSERT INTO said (rowid, text, session, task, type) VALUES (?, ?, ?, ?, ?)'),
    unsay: database.prepare('DELETE FROM said WHERE rowid IN (SELECT id FROM entry WHERE session = ?)'),
    removeEntries: database.prepare('DELETE FROM entry WHERE session = ?'),
  }
}
