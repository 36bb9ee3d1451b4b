import { type DurableEvent, loopTools } from '@matrix/protocol'
import { findOrphanedToolCalls } from './orphaned-tool-call.ts'

/**
 * What a session needs after a restart: `done` nothing, `yielding` only a message, `interrupted` to go on where it was cut
 * off, `new` to be started.
 */
export type ResumeState = 'new' | 'yielding' | 'interrupted' | 'done'

/** Folds the active events of a session into what has to be done with it. */
export function findResumeState(events: Iterable<DurableEvent>): ResumeState {
  const all = [...events]
  const orphans = findOrphanedToolCalls(all)
  if (orphans.length > 0) return orphans.every(({ name }) => name === loopTools.yield) ? 'yielding' : 'interrupted'
  return all.reduce(stateAfter, 'new')
}

// What each kind of event leaves behind when it is the last one that matters. Events not named here change nothing.
function stateAfter(state: ResumeState, event: DurableEvent): ResumeState {
  switch (event.type) {
    case 'assistant_text':
    case 'tool_call':
    case 'tool_result':
    case 'messages_consumed':
    case 'compact_started':
    case 'summarization_request':
    case 'compacted_resume':
    case 'orchestration_started':
    case 'task_started':
      return 'interrupted'
    case 'compact_marker':
      return state === 'done' ? 'done' : 'interrupted'
    // A forked session has been given knowledge and nothing to do yet.
    case 'fork_marker':
      return 'new'
    // A turn that asked for nothing parks the agent; only a message wakes it.
    case 'turn_completed':
      return event.stopReason === 'end_turn' ? 'yielding' : state
    case 'orchestration_completed':
      return event.exitReason.startsWith('done_') ? 'done' : 'interrupted'
    default:
      return state
  }
}
