import type { DurableEvent } from '@matrix/protocol'
import { applyEvent, emptySession, type SessionState } from '@matrix/protocol/session'
import type { Kept } from './line.ts'

/**
 * What must outlive a compaction, or a conversation that is rewound: messages that were not consumed, an open question, the
 * frozen configuration and the identity. A marker names them, so that the active part of a session is found from the marker alone.
 */
export type Carry = {
  state: SessionState
  /** Where each message is. */
  messages: Map<string, Kept>
  question: Kept | undefined
  config: Kept | undefined
  fork: Kept | undefined
}

export function emptyCarry(): Carry {
  return { state: emptySession, messages: new Map(), question: undefined, config: undefined, fork: undefined }
}

/** Takes note of an event and of where its line is. */
export function carryEvent(carry: Carry, event: DurableEvent, place: Kept): void {
  carry.state = applyEvent(carry.state, event)
  if (event.type === 'message' && !carry.messages.has(event.message.id)) carry.messages.set(event.message.id, place)
  if (event.type === 'clarification_requested') carry.question = place
  if (event.type === 'session_config' || event.type === 'config_requested') carry.config = place
  if (event.type === 'fork_marker') carry.fork = place
}

/** What this marker has to name if it is written now, in the order of the file. A rewound agent asks nothing any more. */
export function keptBy(marker: DurableEvent, { state, messages, question, config, fork }: Carry): Kept[] {
  const asked = state.question && marker.type !== 'rewind_marker' ? question : undefined
  const pending = state.pending.map(({ id }) => messages.get(id))
  const kept = [...pending, asked, config, fork].filter((place) => place !== undefined)
  return kept.sort(([left], [right]) => left - right)
}
