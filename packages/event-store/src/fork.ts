import type { DurableEvent } from '@matrix/protocol'
import { findOrphanedToolCalls, findPendingMessages } from '@matrix/protocol/session'

/** Who the forked session belongs to; it becomes the last `fork_marker`, which is the session's identity. */
export type ForkTarget = Omit<ForkMarker, 'type' | 'sourceTaskId' | 'sourceSeq'>

type ForkMarker = Extract<DurableEvent, { type: 'fork_marker' }>

export const FORKED_CALL_TEXT = 'This tool was executed by the parent agent. You are the CHILD.'
export const REWOUND_CALL_TEXT =
  'The conversation was taken back to before this call was answered. What it has changed, if anything, is still so.'

/**
 * The events that make a session a fork: what the source knows, an answer for every call it still waits for, and the
 * marker. Messages the source has not consumed yet are the source's to consume, and stay with it.
 */
export function forkEvents(
  active: DurableEvent[],
  source: Pick<ForkMarker, 'sourceTaskId' | 'sourceSeq'>,
  target: ForkTarget,
): DurableEvent[] {
  // What was taken back is not in the active part; the marker names a seq that means nothing elsewhere.
  const known = settle(active, target, FORKED_CALL_TEXT).filter(({ type }) => type !== 'rewind_marker')
  return [...known, { type: 'fork_marker', ...target, ...source }]
}

export type RewindMarker = Extract<DurableEvent, { type: 'rewind_marker' }>

/**
 * What stands before a rewind marker in the active part of its session: what was active when `upTo` was the last event, an
 * answer for every call that was open then, and what the marker keeps, such as messages that wait now.
 */
export function rewindEvents(active: DurableEvent[], kept: DurableEvent[], marker: RewindMarker): DurableEvent[] {
  return [...settle(active, marker, REWOUND_CALL_TEXT), ...kept]
}

/** What is known, with an answer for every call that has none and without the messages that still waited. */
function settle(active: DurableEvent[], { taskId, ts }: { taskId: string; ts: string }, text: string): DurableEvent[] {
  const waiting = new Set(findPendingMessages(active).map(({ id }) => id))
  const known = active.filter((event) => event.type !== 'message' || !waiting.has(event.message.id))
  const answers = findOrphanedToolCalls(known).map(
    ({ callId }): DurableEvent => ({
      type: 'tool_result',
      taskId,
      ts,
      callId,
      content: [{ type: 'text', text }],
      isError: false,
    }),
  )
  return [...known, ...answers]
}

/** Whose session this is: the last fork marker, or none when it was never forked. */
export function findIdentity(events: DurableEvent[]): ForkMarker | undefined {
  return events.findLast((event) => event.type === 'fork_marker')
}
