import type { DurableEvent } from '@matrix/protocol'
import { findOrphanedToolCalls } from './orphaned-tool-call.ts'
import { findPendingMessages } from './pending-message.ts'

/** Who the forked session belongs to; it becomes the last `fork_marker`, which is the session's identity. */
export type ForkTarget = Omit<ForkMarker, 'type' | 'sourceTaskId' | 'sourceSeq'>

type ForkMarker = Extract<DurableEvent, { type: 'fork_marker' }>

export const FORKED_CALL_TEXT = 'This tool was executed by the parent agent. You are the CHILD.'

/**
 * The events that make a session a fork: what the source knows, an answer for every call it still waits for, and the
 * marker. Messages the source has not consumed yet are the source's to consume, and stay with it.
 */
export function forkEvents(
  active: DurableEvent[],
  source: Pick<ForkMarker, 'sourceTaskId' | 'sourceSeq'>,
  target: ForkTarget,
): DurableEvent[] {
  const waiting = new Set(findPendingMessages(active).map(({ id }) => id))
  const known = active.filter((event) => event.type !== 'message' || !waiting.has(event.message.id))
  const answers = findOrphanedToolCalls(known).map(
    ({ callId }): DurableEvent => ({
      type: 'tool_result',
      taskId: target.taskId,
      ts: target.ts,
      callId,
      content: [{ type: 'text', text: FORKED_CALL_TEXT }],
      isError: false,
    }),
  )
  return [...known, ...answers, { type: 'fork_marker', ...target, ...source }]
}

/** Whose session this is: the last fork marker, or none when it was never forked. */
export function findIdentity(events: DurableEvent[]): ForkMarker | undefined {
  return events.findLast((event) => event.type === 'fork_marker')
}
