import type { DurableEvent } from '@matrix/protocol'
import type { Kept } from './line.ts'

/**
 * What must outlive a compaction: messages nobody has consumed yet, a question nobody has answered, the frozen configuration
 * and the identity. A compact marker names them, so that the active part of a session is found from the marker alone.
 */
export type Carry = {
  pending: Map<string, Kept>
  consumed: Set<string>
  question: { id: string; place: Kept } | undefined
  config: Kept | undefined
  fork: Kept | undefined
}

export function emptyCarry(): Carry {
  return { pending: new Map(), consumed: new Set(), question: undefined, config: undefined, fork: undefined }
}

/** Takes note of an event and of where its line is. */
export function carryEvent(carry: Carry, event: DurableEvent, place: Kept): void {
  switch (event.type) {
    case 'message':
      if (!carry.consumed.has(event.message.id) && !carry.pending.has(event.message.id))
        carry.pending.set(event.message.id, place)
      return
    case 'messages_consumed':
    case 'messages_withdrawn':
      for (const id of event.messageIds) {
        carry.pending.delete(id)
        carry.consumed.add(id)
      }
      return
    case 'clarification_requested':
      carry.question = { id: event.clarificationId, place }
      return
    case 'clarification_answered':
      if (carry.question?.id === event.clarificationId) carry.question = undefined
      return
    case 'orchestration_completed':
      carry.question = undefined
      return
    case 'session_config':
      carry.config = place
      return
    case 'fork_marker':
      carry.fork = place
      carry.question = undefined
      return
    case 'compact_marker':
      carry.consumed.clear()
      return
  }
}

/** What a marker written now has to name, in the order of the file. */
export function keptNow({ pending, question, config, fork }: Carry): Kept[] {
  const kept = [...pending.values(), ...[question?.place, config, fork].filter((place) => place !== undefined)]
  return kept.sort(([left], [right]) => left - right)
}
