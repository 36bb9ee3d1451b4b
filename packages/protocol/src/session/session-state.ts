import type { DurableEvent, TokenUsage } from '../event.ts'
import type { MessageSource, QueueMessage } from '../queue-message.ts'
import { builtinTools, loopTools } from '../tool-names.ts'

export type EventOf<T extends DurableEvent['type']> = Extract<DurableEvent, { type: T }>

type Part<T extends DurableEvent['type'], Needed extends PropertyKey, Optional extends PropertyKey = never> = Pick<
  EventOf<T>,
  Needed & keyof EventOf<T>
> &
  Partial<Pick<EventOf<T>, Optional & keyof EventOf<T>>>

/** As much of an event as the fold reads. What is long, such as what a tool answered, may be left out. */
export type FoldedEvent =
  | Exclude<DurableEvent, { type: 'assistant_text' | 'tool_call' | 'tool_result' }>
  | Part<'assistant_text', 'type'>
  | Part<'tool_call', 'type' | 'ts' | 'callId' | 'name', 'taskId' | 'input' | 'invalidInput'>
  | Part<'tool_result', 'type' | 'callId', 'background'>

/** A call without a result. */
export type OpenCall = {
  callId: string
  name: string
  ts: string
  /** Only of the calls that `readsInput` names. */
  input?: unknown
  /** The background command that it starts. */
  starts?: { id: string; command: string }
  /** The arguments could not be read, so the tool was not run. */
  isInvalid?: true
  /** Of a `clarify`: the question has been asked. */
  isAsked?: true
}

/** A background command, by the id of the message that will report its end. */
export type StartedCommand = { id: string; processId: string; command: string }

/** What a session means. Plain data: it survives JSON, so that it can be kept and continued. */
export type SessionState = {
  readonly phase: 'new' | 'working' | 'waiting' | 'ended'
  /** Whether the agent has been told what its task is and where it works. */
  readonly isStarted: boolean
  /** In the order in which the calls were made. */
  readonly open: readonly OpenCall[]
  /** Messages that have not been read, oldest first. */
  readonly pending: readonly QueueMessage[]
  /** The ids of those read since the last marker: delivering one of them again changes nothing. */
  readonly read: readonly string[]
  readonly question?: EventOf<'clarification_requested'> | undefined
  /** The task is stopped: by a user, or by an operation that any message undoes. */
  readonly hold?: 'user' | 'reset' | undefined
  /** The last thing that happened was a problem. */
  readonly problem?: EventOf<'error'> | EventOf<'budget_exceeded'> | undefined
  /** Background commands whose end was not reported. */
  readonly commands: readonly StartedCommand[]
  readonly end?: Pick<EventOf<'orchestration_completed'>, 'exitReason' | 'output'> | undefined
  readonly usage: TokenUsage
}

/** Raised whenever the same events lead to another state, so that states kept earlier are not continued. */
export const FOLD_VERSION = 1

export const emptySession: SessionState = {
  phase: 'new',
  isStarted: false,
  open: [],
  pending: [],
  read: [],
  commands: [],
  usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
}

/** Says what a session means after one more event. Knows no disk, no clock and no other session. */
export function applyEvent(state: SessionState, event: FoldedEvent): SessionState {
  const after = change(state, event)
  if (after.problem === undefined || keepsProblem.has(event.type)) return after
  return { ...after, problem: undefined }
}

/** The state after these events, on top of one that is known already. */
export function foldSession(events: Iterable<FoldedEvent>, known: SessionState = emptySession): SessionState {
  let state = known
  for (const event of events) state = applyEvent(state, event)
  return state
}

const keepsProblem: ReadonlySet<string> = new Set([
  'error',
  'budget_exceeded',
  'message',
  'session_config',
  'config_requested',
])

function change(state: SessionState, event: FoldedEvent): SessionState {
  switch (event.type) {
    case 'message':
      return hear(state, event.message)
    case 'messages_consumed':
      return { ...take(state, event.messageIds), phase: 'working' }
    case 'messages_withdrawn':
      return take(state, event.messageIds)
    case 'assistant_text':
    case 'compact_started':
    case 'summarization_request':
      return state.phase === 'working' ? state : { ...state, phase: 'working' }
    case 'tool_call':
      return { ...state, phase: 'working', open: [...without(state.open, event.callId), openCall(event)] }
    case 'tool_result':
      return answer(state, event)
    case 'turn_completed':
      return completeTurn(state, event)
    // Agents that were compacted while they waited go on waiting.
    case 'compacted_resume':
      return { ...state, phase: event.idle ? 'waiting' : 'working' }
    case 'compact_marker':
      return compact(state)
    // A session that was forked or rewound has its knowledge and nothing to do yet.
    case 'rewind_marker':
      return { ...state, phase: 'new', open: [], read: [], question: undefined }
    case 'fork_marker':
      return { ...emptySession, pending: state.pending, read: state.read }
    case 'orchestration_started':
      return { ...state, phase: 'working', hold: undefined }
    case 'task_started':
      return { ...state, phase: 'working', isStarted: true }
    case 'orchestration_completed':
      return complete(state, event)
    case 'clarification_requested':
      return { ...state, question: event, open: markAsked(state.open, event.clarificationId) }
    case 'clarification_answered':
      return settleQuestion(state, event)
    case 'agent_stopped':
      return { ...state, hold: event.reason === 'reset' ? 'reset' : 'user' }
    case 'agent_resumed':
      return { ...state, hold: undefined }
    case 'error':
    case 'budget_exceeded':
      return { ...state, problem: event }
    case 'notice':
    case 'budget_warning':
    case 'session_config':
    case 'config_requested':
      return state
    default:
      event satisfies never
      // A later version of Matrix may have written it.
      return state
  }
}

function hear(state: SessionState, message: QueueMessage): SessionState {
  const { pending, read, commands, hold } = state
  const isKnown = pending.some(({ id }) => id === message.id) || read.includes(message.id)
  const isEnd = commands.some(({ id }) => id === message.id)
  return {
    ...state,
    pending: isKnown ? pending : [...pending, message],
    hold: hold && letsGoOn(message.source, hold) ? undefined : hold,
    commands: isEnd ? commands.filter(({ id }) => id !== message.id) : commands,
  }
}

/** A user message always resumes a task; messages of other tasks only one that no user has stopped. */
function letsGoOn(source: MessageSource, hold: 'user' | 'reset'): boolean {
  if (source === 'user' || source === 'compact') return true
  return hold === 'reset' && (source === 'task_message' || source === 'cross_project')
}

function take(state: SessionState, messageIds: readonly string[]): SessionState {
  const pending = state.pending.filter(({ id }) => !messageIds.includes(id))
  return { ...state, pending, read: [...state.read, ...messageIds] }
}

/** Whether the task depends on what a call was given, and not only on its name. */
export function readsInput(name: string): boolean {
  return name === loopTools.done || name === loopTools.clarify
}

function openCall(event: FoldedEvent & { type: 'tool_call' }): OpenCall {
  const { callId, name, ts, input, invalidInput } = event
  const call: OpenCall = { callId, name, ts }
  if (readsInput(name)) call.input = input
  if (readsInput(name) && invalidInput !== undefined) call.isInvalid = true
  const { command, background } = (name === builtinTools.bash && input ? input : {}) as Record<string, unknown>
  if (background === true) call.starts = { id: endId(event), command: String(command) }
  return call
}

/** The message that reports the end of a background command has an id that follows from the call which started it. */
export function endId({ taskId, callId, ts }: Pick<FoldedEvent & { type: 'tool_call' }, 'taskId' | 'callId' | 'ts'>) {
  return `${taskId}/${callId}/${ts}/ended`
}

function answer(state: SessionState, { callId, background }: FoldedEvent & { type: 'tool_result' }): SessionState {
  const open = without(state.open, callId)
  const starts = background && state.open.find((call) => call.callId === callId)?.starts
  if (!starts) return { ...state, phase: 'working', open }
  return { ...state, phase: 'working', open, commands: [...state.commands, { ...starts, ...background }] }
}

function completeTurn(state: SessionState, { stopReason, usage }: EventOf<'turn_completed'>): SessionState {
  return {
    ...state,
    // A turn that asked for nothing parks the agent; only a message wakes it.
    phase: stopReason === 'end_turn' ? 'waiting' : state.phase,
    usage: {
      inputTokens: state.usage.inputTokens + usage.inputTokens,
      outputTokens: state.usage.outputTokens + usage.outputTokens,
      cacheReadTokens: state.usage.cacheReadTokens + usage.cacheReadTokens,
      cacheWriteTokens: state.usage.cacheWriteTokens + usage.cacheWriteTokens,
    },
  }
}

function complete(state: SessionState, event: EventOf<'orchestration_completed'>): SessionState {
  const { exitReason, output } = event
  const phase = exitReason.startsWith('done_') ? 'ended' : 'working'
  return { ...state, phase, question: undefined, end: { exitReason, output } }
}

function compact(state: SessionState): SessionState {
  const phase = state.phase === 'ended' ? 'ended' : 'working'
  return { ...state, phase, isStarted: true, open: [], read: [] }
}

function settleQuestion(state: SessionState, { clarificationId, by }: EventOf<'clarification_answered'>): SessionState {
  const question = state.question?.clarificationId === clarificationId ? undefined : state.question
  return { ...state, question, hold: by === 'user' ? undefined : state.hold }
}

function without(calls: readonly OpenCall[], callId: string): readonly OpenCall[] {
  return calls.some((call) => call.callId === callId) ? calls.filter((call) => call.callId !== callId) : calls
}

function markAsked(calls: readonly OpenCall[], callId: string): readonly OpenCall[] {
  if (!calls.some((call) => call.callId === callId)) return calls
  return calls.map((call) => (call.callId === callId ? { ...call, isAsked: true } : call))
}
