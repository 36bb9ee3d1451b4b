import type { DurableEvent } from '../event.ts'
import type { QueueMessage } from '../queue-message.ts'
import { loopTools } from '../tool-names.ts'
import { type EventOf, type FoldedEvent, foldSession, type OpenCall, type SessionState } from './session-state.ts'

/**
 * What a session needs after a restart: `done` nothing, `yielding` only a message, `interrupted` to continue where it was cut
 * off, `new` to be started.
 */
export type ResumeState = 'new' | 'yielding' | 'interrupted' | 'done'

export type ToolCallEvent = EventOf<'tool_call'>

const resumeStates = { new: 'new', working: 'interrupted', waiting: 'yielding', ended: 'done' } as const

export function resumeStateOf({ phase, open }: SessionState): ResumeState {
  // A call beside `done` stays open when the task has ended.
  if (open.length === 0 || phase === 'ended') return resumeStates[phase]
  return open.every(({ name }) => name === loopTools.yield) ? 'yielding' : 'interrupted'
}

const waitingCalls: ReadonlySet<string> = new Set([loopTools.yield, loopTools.clarify])

/** A call that stays open until a message arrives. */
export function isWaitingCall({ name }: Pick<OpenCall, 'name'>): boolean {
  return waitingCalls.has(name)
}

/** An agent that waits for a message needs neither a model nor a process: it is launched when the message comes. */
export function isWaiting(state: SessionState): boolean {
  return resumeStateOf(state) === 'yielding' || (state.open.length > 0 && state.open.every(isWaitingCall))
}

/** A question whose call was stored and which was not asked, as a crash leaves it. */
export function unaskedQuestion({
  open,
}: SessionState): Pick<EventOf<'clarification_requested'>, 'clarificationId' | 'question' | 'options'> | undefined {
  const call = open.find(({ name }) => name === loopTools.clarify)
  const { question, options } = (call?.input ?? {}) as { question?: unknown; options?: string[] }
  if (!call || call.isAsked || typeof question !== 'string') return undefined
  return { clarificationId: call.callId, question, ...(options && { options }) }
}

/** The active part of a session, or all of it, as what has to be done with it. */
export function findResumeState(events: Iterable<FoldedEvent>): ResumeState {
  return resumeStateOf(foldSession(events))
}

/** The messages that wait to be consumed, oldest first. One that was delivered twice waits once; a consumed one never comes back. */
export function findPendingMessages(events: Iterable<FoldedEvent>): QueueMessage[] {
  return [...foldSession(events).pending]
}

/** The calls that nothing has answered, in the order they were made. */
export function findOrphanedToolCalls(events: Iterable<DurableEvent>): ToolCallEvent[] {
  const calls = new Map<string, ToolCallEvent>()
  const all = [...events]
  for (const event of all) if (event.type === 'tool_call') calls.set(event.callId, event)
  return foldSession(all).open.flatMap(({ callId }) => calls.get(callId) ?? [])
}
