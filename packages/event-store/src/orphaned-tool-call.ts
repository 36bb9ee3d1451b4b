import type { DurableEvent } from '@matrix/protocol'

export type ToolCallEvent = Extract<DurableEvent, { type: 'tool_call' }>

/** The calls that nothing has answered, in the order they were made. */
export function findOrphanedToolCalls(events: Iterable<DurableEvent>): ToolCallEvent[] {
  const open = new Map<string, ToolCallEvent>()
  for (const event of events) {
    if (event.type === 'tool_call') open.set(event.callId, event)
    if (event.type === 'tool_result') open.delete(event.callId)
  }
  return [...open.values()]
}
