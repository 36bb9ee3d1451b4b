import type { DurableEvent, TokenUsage, ToolContent, ToolSpec } from '@matrix/protocol'
import type { UserPart } from './message-text.ts'
import type { ModelPricing } from './pricing.ts'
import type { AgentResult } from './run.ts'

/** Why a model stopped, in the words of no particular provider. */
export type StopReason = 'end_turn' | 'tool_use' | 'max_tokens' | 'refusal' | 'context_exceeded'

export type ToolUse = {
  callId: string
  name: string
  input: Record<string, unknown>
  /** What the model wrote where a JSON object was due. */
  invalidInput?: string
}

/** What a model said in one turn. */
export type AssistantTurn = {
  text: string
  calls: ToolUse[]
  /** What only this provider can read back, such as signed thinking and the order of the blocks. */
  provider?: unknown
}

/** A whole answer. */
export type ProviderResponse = AssistantTurn & { model: string; usage: TokenUsage; stopReason: StopReason }

export type AnsweredCall = { callId: string; name: string; content: ToolContent[]; isError: boolean }

/**
 * How one provider writes down a conversation. The traversal is `walkEventsToMessages`, the same for all, while
 * running and on replay, which is why a resumed conversation is the one that was interrupted.
 */
export type EventConverterCallbacks = {
  addAssistantMessage(turn: AssistantTurn): object[]
  buildToolResultsMessage(results: AnsweredCall[], parts: UserPart[]): object[]
  buildImplicitYieldMessage(parts: UserPart[]): object[]
}

/** The conversation as JSON text that only grows, so that a turn costs what is new in it. */
export type SerializedMessages = {
  /** Messages that are final, each followed by a comma. */
  closed: Uint8Array
  /** Where in `closed` the last message of the user side ends. */
  userEnd: number
  /** The messages of the user side that wait for an answer, comma-separated. */
  open: string
}

export type ApiCall = {
  model: string
  /** What `prepareTools` made. */
  prepared: Uint8Array
  messages: SerializedMessages
  maxOutputTokens: number
  sessionId: string
  signal: AbortSignal
}

export type ResponseEvent = Extract<DurableEvent, { type: 'assistant_text' | 'tool_call' }>
type Unstamped<E> = E extends DurableEvent ? Omit<E, 'taskId' | 'ts'> : never

/** One model API. */
export type ProviderAdapter = EventConverterCallbacks & {
  name: string
  /** Tokens of prompt and answer together. */
  getContextWindow(model: string): Promise<number>
  getModelPricing(model: string): Promise<ModelPricing | undefined>
  convertEventsToMessages(events: Iterable<DurableEvent>): string[]
  /** System prompt and tools as the start of a request body: serialised once, sent with every call. */
  prepareTools(tools: ToolSpec[], systemPrompt: string): Uint8Array
  /** The whole answer, its text also as it comes; throws when it did not end as it should. */
  callAPI(call: ApiCall, onText: (text: string) => void): Promise<ProviderResponse>
  getResponseText(response: ProviderResponse): string
  getToolUses(response: ProviderResponse): ToolUse[]
  getTokenUsage(response: ProviderResponse): TokenUsage
  getStopReason(response: ProviderResponse): StopReason
  supportsTokenCounting: boolean
  countTokens(call: ApiCall): Promise<number>
  buildResponseEvents(response: ProviderResponse): Unstamped<ResponseEvent>[]
  computeCost(usage: TokenUsage, pricing: ModelPricing | undefined): number
  /** The models that can be asked for, as far as they can be found out. */
  listModels(signal: AbortSignal): Promise<string[]>
  /** How long to wait before asking again; `undefined` means that asking again is no use. */
  getOuterRetryDelayMs?(attempt: number, error: unknown): number | undefined
  buildResult?(result: AgentResult): AgentResult
  /** Ends idle connections. */
  close(): void
}
