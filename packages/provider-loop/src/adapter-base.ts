import type { TokenUsage } from '@matrix/protocol'
import { walkEventsToMessages } from './conversation.ts'
import { pricedModels } from './known-models.ts'
import { findPricing, type PricingOverrides, priceOf } from './pricing.ts'
import type { ApiCall, ProviderAdapter, ProviderResponse, ToolUse } from './provider-adapter.ts'
import { formatRequestJson } from './request-json.ts'

/** What a provider has to say for itself; all other hooks follow from it. */
export type AdapterCore = Pick<
  ProviderAdapter,
  | 'name'
  | 'prepareTools'
  | 'callAPI'
  | 'addAssistantMessage'
  | 'buildToolResultsMessage'
  | 'buildImplicitYieldMessage'
  | 'close'
> &
  Partial<
    Pick<ProviderAdapter, 'countTokens' | 'getOuterRetryDelayMs' | 'buildResult' | 'getContextWindow' | 'listModels'>
  >

export type AdapterOptions = {
  /** How the price table calls the provider. */
  priceProvider: string
  pricing?: PricingOverrides | undefined
  contextWindow?: number | undefined
  /** Whether it is not the provider's own address, so that nothing is known of its models. */
  isOwnServer?: boolean | undefined
}

const fallbackContextWindow = 128_000

/** Completes an adapter with the hooks that are the same for every provider. */
export function completeAdapter(
  core: AdapterCore,
  { priceProvider, pricing, contextWindow, isOwnServer = false }: AdapterOptions,
): ProviderAdapter {
  const known = new Map<string, ReturnType<typeof findPricing>>()
  const getModelPricing = (model: string) => {
    const found = known.get(model) ?? findPricing(model, priceProvider, pricing)
    known.set(model, found)
    return found
  }
  return {
    getModelPricing,
    getContextWindow: async (model) =>
      contextWindow ?? (await getModelPricing(model))?.contextWindow ?? fallbackContextWindow,
    convertEventsToMessages: (events) => walkEventsToMessages(events, core),
    getResponseText: (response) => response.text,
    getToolUses: (response) => response.calls,
    getTokenUsage: (response) => response.usage,
    getStopReason: (response) => response.stopReason,
    supportsTokenCounting: core.countTokens !== undefined,
    countTokens: () => Promise.reject(new Error(`${core.name} cannot count tokens`)),
    buildResponseEvents,
    computeCost: priceOf,
    ...core,
    // A provider that does not tell has the models that the price table knows of it.
    listModels: async (signal) =>
      (await core.listModels?.(signal).catch(() => undefined)) ?? (isOwnServer ? [] : pricedModels(priceProvider)),
  }
}

function buildResponseEvents(response: ProviderResponse): ReturnType<ProviderAdapter['buildResponseEvents']> {
  const { text, provider, calls } = response
  const spoken = text !== '' || provider !== undefined
  return [
    ...(spoken ? [{ type: 'assistant_text' as const, text, ...(provider !== undefined && { provider }) }] : []),
    ...calls.map((call) => ({ type: 'tool_call' as const, ...call })),
  ]
}

/** Tool arguments as the model wrote them; what is not a JSON object is kept to be shown to it again. */
export function readArguments(callId: string, name: string, written: string): ToolUse {
  try {
    const input: unknown = written.trim() === '' ? {} : JSON.parse(written)
    if (typeof input === 'object' && input !== null && !Array.isArray(input))
      return { callId, name, input: input as Record<string, unknown> }
  } catch {}
  return { callId, name, input: {}, invalidInput: written }
}

/**
 * Runs one request under a signal of its own: SDKs add a listener for every request, and an agent's signal lives
 * as long as the agent. It has of an AbortSignal what they use, because a whole one for every turn costs a lot.
 */
export async function withOwnSignal<Result>(
  { signal }: ApiCall,
  request: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  let cancel = () => {}
  const abort = () => cancel()
  const own = {
    get aborted() {
      return signal.aborted
    },
    addEventListener(_: string, listener: () => void) {
      cancel = listener
    },
    removeEventListener() {},
  }
  signal.addEventListener('abort', abort)
  try {
    return await request(own as unknown as AbortSignal)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** The start of a request body, up to and including the bracket that opens the list of messages. */
export function openBody(fields: object, list: string): Uint8Array {
  const text = formatRequestJson({ ...fields, [list]: [] })
  return Buffer.from(text.slice(0, -']}'.length))
}

/** The end of a request body: the messages that are new, and what comes after the list. */
export function closeBody(open: string, fields: object): Uint8Array {
  return Buffer.from(`${open}],${JSON.stringify(fields).slice(1)}`)
}

/**
 * What makes the SDKs hand these bytes to our own `fetch` as they are. They would take a single buffer as `body`,
 * but then the whole history would be copied for every request.
 */
export function rawBody(
  chunks: Uint8Array[],
  signal: AbortSignal,
): { fetchOptions: object; signal: AbortSignal; headers: Record<string, string> } {
  return { fetchOptions: { body: chunks }, signal, headers: { 'content-type': 'application/json' } }
}

/** What a turn comes to where the provider has not counted it: about four bytes to a token. */
export function estimateUsage({ prepared, messages }: ApiCall, answerLength: number): TokenUsage {
  const prompt = prepared.length + messages.closed.length + messages.open.length
  return {
    inputTokens: Math.ceil(prompt / 4),
    outputTokens: Math.ceil(answerLength / 4),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  }
}

/** What both APIs answer when they are asked for their models. */
export function modelIds(list: unknown): string[] {
  const { data } = list as { data: { id: string }[] }
  return data.map(({ id }) => id)
}

/** What stands for a result or a message that says nothing: providers refuse empty text. */
export const nothing = '(no output)'
