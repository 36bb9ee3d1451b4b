import { applyEvent, emptySession, type ResumeState, resumeStateOf, type SessionState } from '@matrix/protocol/session'
import { openCostWriter } from './cost.ts'
import type { Damage } from './damage.ts'
import type { HeadBatch } from './event-head.ts'
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
  /** What the session means so far, as JSON. */
  state: string
  first_at: string | null
  last_at: string | null
  archive: string | null
}

/** The writing half of the index. Every call happens whole or not at all: after a crash the index is behind, never wrong. */
export type IndexTables = {
  rows(): SessionRow[]
  find(name: string): SessionRow | undefined
  /** The bytes of all sessions that hold. */
  totalSize(): number
  ensure(name: string, origin?: { sessionId: string; archive: string }): SessionRow
  /** Takes the lines that follow what is known of a session into its summary and costs. */
  addHeads(row: SessionRow, batch: HeadBatch): SessionRow
  setDamage(name: string, damage: Damage): void
  /** Moves what is known of a session to its archive, or back. */
  setArchive(sessionId: string, archive: string): void
  clearArchive(sessionId: string, archive: string): void
  forget(name: string): void
}

export function readState({ state }: SessionRow): SessionState {
  return state ? JSON.parse(state) : emptySession
}

export function openIndexTables(database: Database): IndexTables {
  const costs = openCostWriter(database)
  const statements = prepare(database)

  function addHeads(row: SessionRow, { events, seq, sum, end }: HeadBatch): SessionRow {
    let state = readState(row)
    let { first_at, last_at } = row
    for (const event of events) {
      first_at ??= event.ts
      last_at = event.ts
      if (!isKnown(event)) continue
      state = applyEvent(state, event)
      if (event.type === 'turn_completed') costs.add(row.id, event)
      // What stands before a fork marker was inherited, and somebody else has paid for it.
      if (event.type === 'fork_marker') costs.forget(row.id)
    }
    const next: SessionRow = {
      ...{ ...row, first_at, last_at, size: end, seq: seq ?? row.seq, sum: sum ?? row.sum },
      status: resumeStateOf(state),
      state: JSON.stringify(state),
    }
    statements.update.run(next)
    return next
  }

  function forget(name: string): void {
    const row = statements.find.get(name) as SessionRow | undefined
    if (!row) return
    costs.forget(row.id)
    statements.remove.run(row.id)
  }

  return {
    rows: () => statements.rows.all() as SessionRow[],
    find: (name) => statements.find.get(name) as SessionRow | undefined,
    totalSize: () => (statements.total.get() as { total: number }).total,
    ensure(name, { sessionId, archive } = { sessionId: name, archive: '' }) {
      statements.add.run(name, sessionId, archive || null)
      return statements.find.get(name) as SessionRow
    },
    addHeads: database.transaction(addHeads),
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
    total: database.prepare('SELECT coalesce(sum(size), 0) AS total FROM session WHERE damage IS NULL'),
    add: database.prepare('INSERT OR IGNORE INTO session (name, session_id, archive) VALUES (?, ?, ?)'),
    update: database.prepare(`UPDATE session SET size = @size, seq = @seq, sum = @sum, status = @status, state = @state,
      first_at = @first_at, last_at = @last_at, damage = NULL WHERE id = @id`),
    damage: database.prepare(`UPDATE session SET status = 'corrupt', damage = ? WHERE name = ?`),
    archive: database.prepare('UPDATE session SET name = ?, archive = ? WHERE name = ?'),
    remove: database.prepare('DELETE FROM session WHERE id = ?'),
  }
}
