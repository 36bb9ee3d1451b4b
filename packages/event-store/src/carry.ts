import type { DurableEvent } from '@matrix/protocol'
import type { Kept } from './line.ts'

/**
 * What must outlive a compaction, or a conversation that is taken back: messages nobody has consumed yet, a question nobody has
 * answered, the frozen configuration and the identity. A marker names them, so that the active part of a session is found
 * from the marker alone.
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
    case 'rewind_marker':
      carry.question = undefined
      carry.consumed.clear()
      return
    case 'compact_marker':
      carry.consumed.clear()
      return
  }
}

/** What this marker has to name if it is written now, in the order of the file. Who is taken back no longer asks. */
export function keptBy(marker: DurableEvent, { pending, question, config, fork }: Carry): Kept[] {
  const asked = marker.type === 'rewind_marker' ? undefined : question?.place
  const kept = [...pending.values(), ...[asked, config, fork].filter((place) => place !== undefined)]
  return kept.sort(([left], [right]) => left - right)
}
