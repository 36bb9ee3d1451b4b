import { DurableEvent } from '@matrix/protocol'
import type { Line } from './line.ts'

/** An event of a type this version does not know: kept and shown, never part of the conversation. */
export type UnknownEvent = { type: string; [field: string]: unknown }

/** An event and its place in the session; the first has seq 1 and none is ever left out. */
export type StoredEvent =
  | { seq: number; known: true; event: DurableEvent }
  | { seq: number; known: false; event: UnknownEvent }

export function isKnown(event: { type: string }): event is DurableEvent {
  return knownTypes.has(event.type)
}

export function storedEvent({ seq, event }: Line): StoredEvent {
  return isKnown(event) ? { seq, known: true, event } : { seq, known: false, event: event as UnknownEvent }
}

const knownTypes = new Set<string>(DurableEvent.options.map((option) => option.shape.type.value))
