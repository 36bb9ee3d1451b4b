import { type DurableEvent, type QueueMessage, removeInvisible, type TokenUsage } from '@matrix/protocol'
import { formatMessage, type UserPart } from './message-text.ts'
import type {
  AnsweredCall,
  AssistantTurn,
  EventConverterCallbacks,
  SerializedMessages,
  ToolUse,
} from './provider-adapter.ts'
import { formatRequestJson } from './request-json.ts'
import { seenParts } from './seen-part.ts'
import { createSerializedHistory } from './serialized-history.ts'
import { currentToolName } from './tool-name-aliases.ts'

type EventOf<T extends DurableEvent['type']> = Extract<DurableEvent, { type: T }>
type ToolResult = Pick<EventOf<'tool_result'>, 'content' | 'isError'>

/** An agent that was `idle` when its compaction was asked for waits again afterwards. */
export type WantedCompaction = {
  reason: 'manual' | 'threshold'
  idle: boolean
  /** What the model wrote last when it was asked for the summary. */
  answer?: string
  /** The model was asked for the summary and has not answered. */
  isAsked?: boolean
}

/** A conversation with a model, as a fold over the events of its session: live and replayed are the same code. */
export type Conversation = {
  apply(event: DurableEvent): void
  messages(): SerializedMessages
  /** All messages, each as JSON. */
  list(): string[]
  /** Calls of the last turn that have no result yet, in the order they were made. */
  pendingCalls(): ToolUse[]
  /** Whether an answer was begun and neither completed nor given up, as a crash leaves it. */
  hasPartialTurn(): boolean
  /** Whether something was said that the model has not answered. */
  awaitsModel(): boolean
  /** About how many tokens the next request has: what the provider last counted, and what came since. */
  contextTokens(): number
  /** What users asked for, in their own words, oldest first. */
  requests(): readonly string[]
  config(): EventOf<'session_config'> | undefined
  /** Whether the `message` event of this id stands in this part of the session. */
  knows(messageId: string): boolean
  /** Whether the message is already part of the conversation. */
  hasConsumed(messageId: string): boolean
  /** A compaction that was asked for or started, and came to no end. */
  unfinishedCompaction(): WantedCompaction | undefined
}

export const interruptedText =
  'This call was interrupted before its result was recorded. It may or may not have taken effect: check before you repeat it.'
const childText = 'This tool was executed by the parent agent. You are the CHILD.'

export function openConversation(callbacks: EventConverterCallbacks): Conversation {
  const history = createSerializedHistory()
  const inbox = new Map<string, QueueMessage>()
  const known = new Set<string>()
  const consumed = new Set<string>()
  let turn: AssistantTurn | undefined
  let calls: ToolUse[] = []
  let results = new Map<string, ToolResult>()
  let parts: UserPart[] = []
  let requests: string[] = []
  let config: EventOf<'session_config'> | undefined
  let compacting: WantedCompaction | undefined
  let userCount = 0
  let unanswered = false
  let tokens = 0

  function say(text: string): void {
    hear([{ type: 'text', text }])
  }

  function hear(said: UserPart[]): void {
    const heard = said.flatMap(seenParts)
    parts.push(...heard)
    tokens += heard.reduce((sum, part) => sum + estimateTokens(part), 0)
    if (heard.length > 0) unanswered = true
  }

  function completeTurn({ stopReason, usage }: EventOf<'turn_completed'>): void {
    // What a crash left of an answer never happened: nobody acted on it.
    if (stopReason === 'failed') {
      turn = undefined
      return
    }
    closeTurn()
    tokens = totalTokens(usage)
    unanswered = false
  }

  /** The model's words become final, and with them what they answer. An empty answer leaves no trace. */
  function closeTurn(): void {
    const finished = turn
    turn = undefined
    if (!finished) return
    if (compacting) compacting = { ...compacting, answer: finished.text, isAsked: false }
    const written = callbacks.addAssistantMessage(finished)
    if (written.length === 0) return
    for (const message of openMessages()) history.append(message)
    userCount = history.count()
    for (const message of written) history.append(message)
    calls = finished.calls
    results = new Map()
    parts = []
  }

  function openMessages(): object[] {
    if (calls.length > 0) return callbacks.buildToolResultsMessage(calls.map(answerOf), parts)
    return parts.length > 0 ? callbacks.buildImplicitYieldMessage(parts) : []
  }

  function answerOf({ callId, name }: ToolUse): AnsweredCall {
    const result = results.get(callId)
    if (result) return { callId, name, content: result.content, isError: result.isError }
    return { callId, name, content: [{ type: 'text', text: interruptedText }], isError: true }
  }

  function pendingCalls(): ToolUse[] {
    return calls.filter(({ callId }) => !results.has(callId))
  }

  function answer(callId: string, result: ToolResult): void {
    closeTurn()
    if (results.has(callId) || !calls.some((call) => call.callId === callId)) return
    const content = result.content.flatMap(seenParts)
    results.set(callId, { ...result, content })
    tokens += content.reduce((sum, part) => sum + estimateTokens(part), 0)
    unanswered = true
  }

  function consume(messageIds: string[]): void {
    for (const id of messageIds) {
      const message = inbox.get(id)
      if (!message) continue
      inbox.delete(id)
      consumed.add(id)
      if (message.source === 'compact') compacting ??= { reason: 'manual', idle: false }
      if (message.source === 'user') requests.push(removeInvisible(message.text).text)
      hear(formatMessage(message))
    }
  }

  function startOver(): void {
    history.clear()
    known.clear()
    compacting = undefined
    turn = undefined
    calls = []
    results = new Map()
    parts = []
    userCount = 0
    tokens = 0
    unanswered = false
  }

  function resume({ text, requests: kept, idle }: EventOf<'compacted_resume'>): void {
    requests = [...(kept ?? [])]
    say(text)
    if (idle) unanswered = false
  }

  /** A fork's child inherits everything said before, and none of the calls that were under way. */
  function fork(marker: EventOf<'fork_marker'>): void {
    settle(childText, forkText(marker))
  }

  /** Ends whatever was going on, says why, and waits for a message. */
  function settle(callText: string, text: string): void {
    // The source may have been taken in the middle of an answer: what it had said by then, it has said.
    closeTurn()
    for (const { callId } of pendingCalls())
      answer(callId, { content: [{ type: 'text', text: callText }], isError: false })
    say(text)
    unanswered = false
  }

  function apply(event: DurableEvent): void {
    switch (event.type) {
      case 'message':
        known.add(event.message.id)
        if (!consumed.has(event.message.id)) inbox.set(event.message.id, event.message)
        break
      case 'messages_consumed':
        consume(event.messageIds)
        break
      case 'assistant_text':
        turn = { calls: turn?.calls ?? [], text: (turn?.text ?? '') + event.text }
        if (event.provider !== undefined) turn.provider = event.provider
        break
      case 'tool_call':
        turn ??= { text: '', calls: [] }
        turn.calls.push(toToolUse(event))
        break
      case 'turn_completed':
        completeTurn(event)
        break
      case 'tool_result':
        answer(event.callId, event)
        break
      case 'notice':
        say(event.text)
        break
      case 'summarization_request':
        if (compacting) compacting = { ...compacting, isAsked: true }
        say(event.text)
        break
      case 'compact_started':
        compacting = { reason: event.reason, idle: event.idle ?? false }
        break
      case 'compact_marker':
        startOver()
        break
      case 'compacted_resume':
        resume(event)
        break
      case 'fork_marker':
        fork(event)
        break
      case 'rewind_marker':
        settle(interruptedText, rewindText)
        break
      case 'session_config':
        config = event
        break
      case 'error':
        compacting = undefined
        unanswered = false
        break
      default:
    }
  }

  return {
    apply,
    messages() {
      return {
        closed: history.bytes(),
        userEnd: history.endOf(userCount),
        open: openMessages().map(formatRequestJson).join(','),
      }
    },
    list: () => [...history.list(), ...openMessages().map(formatRequestJson)],
    pendingCalls,
    hasPartialTurn: () => turn !== undefined,
    awaitsModel: () => unanswered && pendingCalls().length === 0,
    contextTokens: () => tokens,
    requests: () => requests,
    config: () => config,
    knows: (messageId) => known.has(messageId),
    hasConsumed: (messageId) => consumed.has(messageId),
    unfinishedCompaction: () => compacting,
  }
}

/** Rebuilds a conversation from its events: the messages, each as the JSON that the provider is sent. */
export function walkEventsToMessages(events: Iterable<DurableEvent>, callbacks: EventConverterCallbacks): string[] {
  const conversation = openConversation(callbacks)
  for (const event of events) conversation.apply(event)
  return conversation.list()
}

/** Calls that were made and never got a result, as a crash leaves them. */
export function findOrphanedToolCalls(events: Iterable<DurableEvent>): EventOf<'tool_call'>[] {
  const open = new Map<string, EventOf<'tool_call'>>()
  for (const event of events) {
    if (event.type === 'tool_call') open.set(event.callId, event)
    if (event.type === 'tool_result') open.delete(event.callId)
    if (event.type === 'compact_marker') open.clear()
  }
  return [...open.values()]
}

function toToolUse(event: EventOf<'tool_call'>): ToolUse {
  const call: ToolUse = {
    callId: event.callId,
    name: currentToolName(event.name),
    input: (event.input ?? {}) as ToolUse['input'],
  }
  if (event.invalidInput !== undefined) call.invalidInput = event.invalidInput
  return call
}

function forkText({ sourceTaskId, title, description, worktreePath }: EventOf<'fork_marker'>): string {
  const place = worktreePath === null ? '' : `\nYour working directory: ${worktreePath}`
  return `[Fork of task ${sourceTaskId}]\nEverything above is background knowledge from that task. You are now the agent of the task "${title}".${place}\n${description}`.trimEnd()
}

const rewindText =
  '[The conversation was taken back to this point]\nWhat was said after it is forgotten. What was done after it is not undone: look at the files before you rely on what you remember of them.'

const imageTokens = 1600

function estimateTokens(part: UserPart): number {
  return part.type === 'image' ? imageTokens : Math.ceil(part.text.length / 4)
}

export function totalTokens(usage: TokenUsage): number {
  return usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
}
