import { type DurableEvent, loopTools } from '@matrix/protocol'

/**
 * What a session needs after a restart: `done` nothing, `yielding` only a message, `interrupted` to go on where it was cut
 * off, `new` to be started.
 */
export type ResumeState = 'new' | 'yielding' | 'interrupted' | 'done'

/** The fold behind it, as plain data, so that it can be kept and continued. */
export type ResumeFold = { state: ResumeState; open: Record<string, string> }

export function emptyResumeFold(): ResumeFold {
  return { state: 'new', open: {} }
}

/** Takes the next event in. */
export function applyResumeEvent(fold: ResumeFold, event: DurableEvent): ResumeFold {
  if (event.type === 'tool_call') fold.open[event.callId] = event.name
  if (event.type === 'tool_result') delete fold.open[event.callId]
  // What the model is shown starts anew at a marker, and so do the calls it waits for.
  if (event.type === 'compact_marker' || event.type === 'rewind_marker') fold.open = {}
  fold.state = stateAfter(fold.state, event)
  return fold
}

export function resumeStateOf({ state, open }: ResumeFold): ResumeState {
  const waiting = Object.values(open)
  if (waiting.length === 0) return state
  return waiting.every((name) => name === loopTools.yield) ? 'yielding' : 'interrupted'
}

/** Folds the active events of a session into what has to be done with it. */
export function findResumeState(events: Iterable<DurableEvent>): ResumeState {
  let fold = emptyResumeFold()
  for (const event of events) fold = applyResumeEvent(fold, event)
  return resumeStateOf(fold)
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
    case 'orchestration_started':
    case 'task_started':
      return 'interrupted'
    // Who was compacted while waiting goes on waiting.
    case 'compacted_resume':
      return event.idle ? 'yielding' : 'interrupted'
    case 'compact_marker':
      return state === 'done' ? 'done' : 'interrupted'
    // A session that was forked or taken back has its knowledge and nothing to do yet.
    case 'fork_marker':
    case 'rewind_marker':
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
