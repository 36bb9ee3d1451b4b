import { type DataStore, type EventStore, findPendingMessages, findResumeState } from '@matrix/event-store'
import type { DurableEvent, TokenUsage } from '@matrix/protocol'
import { addCosts } from '@matrix/protocol/display'
import { foldSession } from '@matrix/protocol/session'

const damaged = new WeakSet<readonly DurableEvent[]>()

export type Sessions = ReadonlyMap<string, readonly DurableEvent[]>

/** Every session that is there. A damaged one is known as far as it can be read. */
export async function readSessions(log: EventStore): Promise<Map<string, DurableEvent[]>> {
  const sessions = new Map<string, DurableEvent[]>()
  for (const sessionId of await log.listSessions()) {
    const events: DurableEvent[] = []
    sessions.set(sessionId, events)
    try {
      for await (const batch of log.read(sessionId)) events.push(...batch.map(({ event }) => event as DurableEvent))
    } catch {
      // What follows the damage cannot be read.
      damaged.add(events)
    }
  }
  return sessions
}

/** Sessions that need nothing but a message. */
export function findParked(sessions: Sessions): Set<string> {
  const parked = new Set<string>()
  for (const [sessionId, events] of sessions)
    if (findResumeState(events) === 'yielding' && findPendingMessages(events).length === 0) parked.add(sessionId)
  return parked
}

/** What the index would say of them. */
export function indexSessions(sessions: Sessions): Pick<DataStore['index'], 'findSession' | 'costs' | 'sessions'> {
  return {
    sessions: () => [],
    findSession(sessionId) {
      const events = sessions.get(sessionId)
      if (!events) return undefined
      const known = { sessionId, lastSeq: events.length, lastAt: events.at(-1)?.ts, archive: undefined }
      return { ...known, state: foldSession(events), damage: damaged.has(events) ? {} : undefined } as never
    },
    costs: () =>
      [...sessions].flatMap(([session, events]) =>
        [...sumCosts(events)].map(([task, cost]) => ({ task, session, ...cost })),
      ),
  }
}

type Sum = TokenUsage & { usd: number; turns: number; unpricedTurns: number; workMs: number }

function sumCosts(events: readonly DurableEvent[]): Map<string, Sum> {
  const sums = new Map<string, Sum>()
  for (const event of events) {
    if (event.type !== 'turn_completed') continue
    const { taskId, usage, costUsd: usd, isUnpriced, workMs = 0 } = event
    const turn = { ...usage, usd, turns: 1, unpricedTurns: isUnpriced ? 1 : 0, workMs }
    const sum = sums.get(taskId)
    sums.set(taskId, sum ? addCosts(sum, turn) : turn)
  }
  return sums
}
