import type { SessionEvent } from '@matrix/protocol/http'

/** A stretch of time in which an agent did something. */
export type WorkSpan = { startMs: number; endMs: number; turns: number }
export type WorkLog = { lastSeq: number; spans: readonly WorkSpan[] }

/** Silence longer than this is a pause and not a slow command. */
const pauseMs = 60_000

export const emptyLog: WorkLog = { lastSeq: 0, spans: [] }

// Words on their way to an agent are no work of its own, and neither is what ends its work.
const foreign = new Set(['message', 'fork_marker', 'task_started', 'session_config', 'config_requested'])

/** Goes on where the log ended. What an agent did before a fork was done by another one and is left out. */
export function addToLog(log: WorkLog, events: readonly SessionEvent[]): WorkLog {
  const spans = log.spans.map((span) => ({ ...span }))
  for (const { event } of events) {
    if (event.type === 'fork_marker') spans.length = 0
    const at = 'ts' in event && typeof event.ts === 'string' ? Date.parse(event.ts) : Number.NaN
    if (Number.isNaN(at) || foreign.has(event.type)) continue
    const last = spans.at(-1)
    if (!last || at - last.endMs > pauseMs) spans.push({ startMs: at, endMs: at, turns: 0 })
    else last.endMs = Math.max(last.endMs, at)
    const current = spans.at(-1)
    if (current && event.type === 'turn_completed') current.turns += 1
  }
  return { lastSeq: events.at(-1)?.seq ?? log.lastSeq, spans }
}
