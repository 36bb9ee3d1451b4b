import type { DurableEvent } from '@matrix/protocol'
import type { Kept } from './line.ts'

/**
 * What must outlive a compaction, or a conversation that is taken back: messages nobody has consumed yet, the frozen
 * configuration and the identity. A marker names them, so that the active part of a session is found from the marker alone.
 */
export type Carry = {
  pending: Map<string, Kept>
  consumed: Set<string>
  config: Kept | undefined
  fork: Kept | undefined
}

export function emptyCarry(): Carry {
  return { pending: new Map(), consumed: new Set(), config: undefined, fork: undefined }
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
    case 'session_config':
      carry.config = place
      return
    case 'fork_marker':
      carry.fork = place
      return
    case 'compact_marker':
    case 'rewind_marker':
      carry.consumed.clear()
      return
  }
}

/** What a marker written now has to name, in the order of the file. */
export function keptNow({ pending, config, fork }: Carry): Kept[] {
  const kept = [...pending.values(), ...(config ? [config] : []), ...(fork ? [fork] : [])]
  return kept.sort(([left], [right]) => left - right)
}
