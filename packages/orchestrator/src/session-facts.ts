import { applyEvent, emptySession, type SessionState } from '@matrix/protocol/session'
import type { Stored } from './session-log.ts'

/** What is known of a session without reading it. */
export type SessionFact = { lastSeq: number; lastAt: string | undefined; state: SessionState }

export type SessionFacts = {
  of(taskId: string): SessionFact
  /** Takes in what is stored from now on. */
  observe(stored: Stored): void
  /** Takes in what was stored before this process began. */
  load(taskId: string, fact: SessionFact): void
  forget(taskId: string): void
}

const unknown: SessionFact = { lastSeq: 0, lastAt: undefined, state: emptySession }

export function createSessionFacts(): SessionFacts {
  const facts = new Map<string, SessionFact>()
  const of = (taskId: string) => facts.get(taskId) ?? unknown

  return {
    of,
    observe({ taskId, seq, event }) {
      facts.set(taskId, { lastSeq: seq, lastAt: event.ts, state: applyEvent(of(taskId).state, event) })
    },
    load: (taskId, fact) => void facts.set(taskId, fact),
    forget: (taskId) => void facts.delete(taskId),
  }
}
