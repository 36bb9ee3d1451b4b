import * as z from 'zod'
import { budgetEventFields, budgetFields } from './budget.ts'
import { Origin } from './origin.ts'
import { Image, QueueMessage } from './queue-message.ts'

const stamp = { taskId: z.string(), ts: z.iso.datetime() }
/** For events that carry content; sessions that were written earlier do not say. */
const content = { ...stamp, origin: Origin.optional() }
const usd = z.number().nonnegative()
const count = z.number().int().nonnegative()

export const TokenUsage = z.object({
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
})
export type TokenUsage = z.infer<typeof TokenUsage>

/** One piece of what a tool answered, in a form every provider can be shown. */
export const ToolContent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), ...Image.shape }),
])
export type ToolContent = z.infer<typeof ToolContent>

/** A tool as the model is told of it. */
export const ToolSpec = z.object({
  name: z.string(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
})
export type ToolSpec = z.infer<typeof ToolSpec>

const budget = { ...stamp, ...budgetEventFields }

/** Facts. Appended to the session and replayed on resume, so a shipped shape never changes meaning. */
export const DurableEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message'), ...content, message: QueueMessage }),
  z.object({ type: z.literal('messages_consumed'), ...stamp, messageIds: z.array(z.string()) }),
  /** Taken back by whoever sent them, before anybody read them. */
  z.object({ type: z.literal('messages_withdrawn'), ...stamp, messageIds: z.array(z.string()) }),
  /** `provider` holds what only the provider itself can read back, such as signed thinking, exactly as it came. */
  z.object({ type: z.literal('assistant_text'), ...content, text: z.string(), provider: z.unknown().optional() }),
  z.object({
    type: z.literal('tool_call'),
    ...content,
    callId: z.string(),
    name: z.string(),
    uri: z.string().optional(),
    input: z.unknown(),
    /** What the model wrote where a JSON object was due; the tool is then not run, and `input` is empty. */
    invalidInput: z.string().optional(),
  }),
  z.object({
    type: z.literal('tool_result'),
    ...content,
    callId: z.string(),
    /** The call has left this process running in the background. */
    background: z.object({ processId: z.string() }).optional(),
    content: z.array(ToolContent),
    isError: z.boolean(),
  }),
  z.object({
    type: z.literal('turn_completed'),
    ...stamp,
    model: z.string(),
    stopReason: z.string(),
    usage: TokenUsage,
    costUsd: usd,
    /** The model has no known price, so what the turn cost is unknown and not zero. */
    isUnpriced: z.literal(true).optional(),
    /** How long the agent was at work since its last turn, commands included; waiting for users does not count. */
    workMs: count.optional(),
  }),
  /** An agent that was `idle` before waits again afterwards. */
  z.object({
    type: z.literal('compact_started'),
    ...stamp,
    reason: z.enum(['threshold', 'manual']),
    tokens: count,
    idle: z.boolean().optional(),
  }),
  z.object({ type: z.literal('summarization_request'), ...stamp, text: z.string() }),
  z.object({ type: z.literal('compact_marker'), ...content, checkpoint: z.string() }),
  /** How the conversation starts over. `requests` are the user's own words so far; an `idle` agent goes on waiting. */
  z.object({
    type: z.literal('compacted_resume'),
    ...content,
    text: z.string(),
    requests: z.array(z.string()).optional(),
    idle: z.boolean().optional(),
  }),
  /** What the loop itself tells the model, such as that it repeats itself. */
  z.object({ type: z.literal('notice'), ...content, text: z.string() }),
  z.object({ type: z.literal('orchestration_started'), ...stamp, model: z.string() }),
  z.object({
    type: z.literal('orchestration_completed'),
    ...content,
    exitReason: z.string(),
    output: z.string(),
    costUsd: usd,
    turns: count,
  }),
  z.object({
    type: z.literal('task_started'),
    ...content,
    title: z.string(),
    branch: z.string(),
    worktreePath: z.string(),
    /** Enough to find its place again, and what it may do and spend, if the tree is lost. */
    parentId: z.string().nullable().optional(),
    description: z.string().optional(),
    agent: z.string().optional(),
    skills: z.array(z.string()).optional(),
    ...z.object(budgetFields).partial().shape,
  }),
  z.object({
    type: z.literal('clarification_requested'),
    ...content,
    clarificationId: z.string(),
    question: z.string(),
    options: z.array(z.string()).optional(),
  }),
  z.object({
    type: z.literal('clarification_answered'),
    ...content,
    clarificationId: z.string(),
    answer: z.string(),
    by: z.enum(['user', 'timeout']),
  }),
  /** The last one in a session says whose session it is; what stands before it is inherited knowledge. */
  z.object({
    type: z.literal('fork_marker'),
    ...stamp,
    sourceTaskId: z.string(),
    /** The last event of the source that is known here; older sessions do not say. */
    sourceSeq: count.optional(),
    title: z.string(),
    description: z.string(),
    worktreePath: z.string().nullable(),
  }),
  /** The conversation goes on from the event with this seq; what stands between it and the marker counts as unsaid. */
  z.object({ type: z.literal('rewind_marker'), ...content, upTo: count }),
  z.object({ type: z.literal('budget_warning'), ...budget }),
  z.object({ type: z.literal('budget_exceeded'), ...budget }),
  /** The last one holds: tools and system prompt stay byte-identical however often the session is resumed. */
  z.object({
    type: z.literal('session_config'),
    ...stamp,
    provider: z.string(),
    model: z.string(),
    systemPrompt: z.string(),
    tools: z.array(ToolSpec),
  }),
  /** The next launch takes the configuration of that moment, in place of the last `session_config`. */
  z.object({ type: z.literal('config_requested'), ...stamp, by: z.enum(['user', 'compaction']) }),
  z.object({ type: z.literal('error'), ...stamp, code: z.string(), message: z.string(), hint: z.string().optional() }),
  z.object({ type: z.literal('agent_stopped'), ...stamp, reason: z.string() }),
  /** Stored before the user is told that a stopped task resumes. */
  z.object({ type: z.literal('agent_resumed'), ...stamp, by: z.literal('user') }),
])
export type DurableEvent = z.infer<typeof DurableEvent>

/** Signals. Shown while they happen and gone after; nothing may depend on having seen one. */
export const LiveEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text_delta'), ...stamp, text: z.string() }),
  z.object({
    type: z.literal('usage'),
    ...stamp,
    model: z.string(),
    usage: TokenUsage,
    costUsd: usd,
    contextTokens: count,
  }),
  z.object({ type: z.literal('agent_idle'), ...stamp }),
  z.object({ type: z.literal('agent_active'), ...stamp }),
  z.object({ type: z.literal('status'), ...stamp, text: z.string() }),
  /** Lines that a call has printed since the last such event. */
  z.object({ type: z.literal('tool_output'), ...stamp, callId: z.string(), text: z.string() }),
  z.object({ type: z.literal('clarification_timeout'), ...stamp, clarificationId: z.string() }),
])
export type LiveEvent = z.infer<typeof LiveEvent>

export type Event = DurableEvent | LiveEvent
export type EventType = Event['type']

/** Whether an event belongs in the session's file. A type that is new here does not compile until it is decided. */
export function isPersistedByEmitEvent(event: Event): event is DurableEvent {
  switch (event.type) {
    case 'text_delta':
    case 'usage':
    case 'agent_idle':
    case 'agent_active':
    case 'status':
    case 'tool_output':
    case 'clarification_timeout':
      return false
    case 'message':
    case 'messages_consumed':
    case 'messages_withdrawn':
    case 'assistant_text':
    case 'tool_call':
    case 'tool_result':
    case 'turn_completed':
    case 'compact_started':
    case 'summarization_request':
    case 'compact_marker':
    case 'compacted_resume':
    case 'notice':
    case 'orchestration_started':
    case 'orchestration_completed':
    case 'task_started':
    case 'clarification_requested':
    case 'clarification_answered':
    case 'fork_marker':
    case 'rewind_marker':
    case 'budget_warning':
    case 'budget_exceeded':
    case 'session_config':
    case 'config_requested':
    case 'error':
    case 'agent_stopped':
    case 'agent_resumed':
      return true
    default:
      return event satisfies never
  }
}
