import type { DurableEvent } from '@matrix/protocol'

/** How a result began in sessions of earlier versions: only this sentence named the process that was left running. */
export const STARTED = 'Started in the background as '

/** An event of an earlier version as it would be written now. */
export function fromEarlier(event: DurableEvent): DurableEvent {
  if (event.type !== 'tool_result' || event.background || event.isError) return event
  // Not checked yet, so it may be anything.
  const [first] = Array.isArray(event.content) ? event.content : []
  const processId = first?.type === 'text' ? startedShape.exec(first.text)?.[1] : undefined
  return processId ? { ...event, background: { processId } } : event
}

const startedShape = new RegExp(`^${STARTED}(\\S+)\\.$`)
