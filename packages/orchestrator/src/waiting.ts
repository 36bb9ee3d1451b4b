import { findOrphanedToolCalls, findResumeState } from '@matrix/event-store'
import { type DurableEvent, loopTools } from '@matrix/protocol'

const waitingCalls: ReadonlySet<string> = new Set([loopTools.yield, loopTools.clarify])

/** An agent that waits for a message needs neither a model nor a process: it is launched when the message comes. */
export function isWaiting(events: DurableEvent[]): boolean {
  if (findResumeState(events) === 'yielding') return true
  const open = findOrphanedToolCalls(events)
  return open.length > 0 && open.every(({ name }) => waitingCalls.has(name))
}
