import type { DurableEvent, TokenUsage } from '@matrix/protocol'
import type { Database } from './sqlite.ts'

export type CostKey = 'task' | 'day' | 'model' | 'session'

/** What was spent, summed over everything that is not named in `by`. */
export type Cost = { [key in CostKey]?: string } & TokenUsage & {
    usd: number
    turns: number
    /** Turns of models without a known price: `usd` does not hold them. */
    unpricedTurns: number
    workMs: number
  }

export type CostFilter = { sessionId?: string; taskId?: string; model?: string; since?: string; until?: string }

/** Sums costs by any of task, day (UTC), model and session; `until` is the first day that does not count. */
export function readCosts(database: Database, by: CostKey[], filter: CostFilter = {}): Cost[] {
  const columns = by.map((key) => `${costColumns[key]} AS ${key}`)
  const conditions = Object.entries(filter).filter(([, value]) => value !== undefined)
  const rows = database
    .prepare(`SELECT ${[...columns, sums].join(', ')}
      FROM cost JOIN session ON session.id = cost.session
      ${conditions.length ? `WHERE ${conditions.map(([key]) => costConditions[key as keyof CostFilter]).join(' AND ')}` : ''}
      ${by.length ? `GROUP BY ${by.map((key) => costColumns[key]).join(', ')} ORDER BY ${by.join(', ')}` : ''}`)
    .all(...conditions.map(([, value]) => value))
  return rows as Cost[]
}

const costColumns = { task: 'cost.task', day: 'cost.day', model: 'cost.model', session: 'session.session_id' } as const

const costConditions = {
  sessionId: 'session.session_id = ?',
  taskId: 'cost.task = ?',
  model: 'cost.model = ?',
  since: 'cost.day >= ?',
  until: 'cost.day < ?',
} as const

const sums = `coalesce(sum(usd), 0) AS usd, coalesce(sum(turns), 0) AS turns,
  coalesce(sum(unpriced_turns), 0) AS unpricedTurns, coalesce(sum(work_ms), 0) AS workMs,
  coalesce(sum(input_tokens), 0) AS inputTokens, coalesce(sum(output_tokens), 0) AS outputTokens,
  coalesce(sum(cache_read_tokens), 0) AS cacheReadTokens, coalesce(sum(cache_write_tokens), 0) AS cacheWriteTokens`

type Turn = Extract<DurableEvent, { type: 'turn_completed' }>

/** Adds turns to the sums of a session. */
export function openCostWriter(database: Database): {
  add(session: number, turn: Turn): void
  forget(session: number): void
} {
  const add = database.prepare(`INSERT INTO cost VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET usd = usd + excluded.usd, turns = turns + 1,
      unpriced_turns = unpriced_turns + excluded.unpriced_turns, work_ms = work_ms + excluded.work_ms,
      input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens,
      cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
      cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens`)
  const forget = database.prepare('DELETE FROM cost WHERE session = ?')
  return {
    add(session, { taskId, ts, model, usage, costUsd, isUnpriced, workMs = 0 }) {
      const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage
      const counts = [isUnpriced ? 1 : 0, workMs, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens]
      add.run(session, taskId, ts.slice(0, 10), model, costUsd, ...counts)
    },
    forget: (session) => void forget.run(session),
  }
}
