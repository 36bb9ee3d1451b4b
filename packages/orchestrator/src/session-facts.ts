import type { DurableEvent, QueueMessage, TokenUsage } from '@matrix/protocol'
import type { Stored } from './session-log.ts'

/** What screens want to know of a session without reading it. */
export type SessionFact = {
  lastSeq: number
  lastAt: string | undefined
  /** Messages that wait to be consumed, oldest first. */
  pending: Map<string, QueueMessage>
  usage: TokenUsage
}

export type SessionFacts = {
  of(taskId: string): SessionFact
  /** Takes in what is stored from now on. */
  observe(stored: Stored): void
  /** Takes in what was stored before this process began. */
  load(taskId: string, fact: { lastSeq: number; lastAt: string | undefined; pending?: QueueMessage[] }): void
  forget(taskId: string): void
}

export function createSessionFacts(): SessionFacts {
  const facts = new Map<string, SessionFact>()

  function of(taskId: string): SessionFact {
    const known = facts.get(taskId)
    if (known) return known
    const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
    const fresh: SessionFact = { lastSeq: 0, lastAt: undefined, pending: new Map(), usage }
    facts.set(taskId, fresh)
    return fresh
  }

  return {
    of,
    observe({ taskId, seq, event }) {
      const fact = of(taskId)
      fact.lastSeq = seq
      fact.lastAt = event.ts
      takeIn(fact, event)
    },
    load(taskId, { lastSeq, lastAt, pending = [] }) {
      const fact = of(taskId)
      fact.lastSeq = lastSeq
      fact.lastAt = lastAt
      for (const message of pending) fact.pending.set(message.id, message)
    },
    forget: (taskId) => void facts.delete(taskId),
  }
}

function takeIn(fact: SessionFact, event: DurableEvent): void {
  if (event.type === 'message') fact.pending.set(event.message.id, event.message)
  if (event.type === 'messages_consumed') for (const id of event.messageIds) fact.pending.delete(id)
  if (event.type === 'messages_withdrawn') for (const id of event.messageIds) fact.pending.delete(id)
  if (event.type !== 'turn_completed') return
  for (const key of ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const)
    fact.usage[key] += event.usage[key]
}
