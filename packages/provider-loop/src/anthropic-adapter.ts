import type Anthropic from '@anthropic-ai/sdk'
import type { TokenUsage, ToolContent } from '@matrix/protocol'
import {
  type AdapterOptions,
  closeBody,
  completeAdapter,
  modelIds,
  nothing,
  openBody,
  rawBody,
  readArguments,
  withOwnSignal,
} from './adapter-base.ts'
import { parseEvent, readBatches } from './answer-events.ts'
import { BrokenAnswer } from './failure.ts'
import { createHttpFetch, type Dial } from './http-fetch.ts'
import type { UserPart } from './message-text.ts'
import type {
  AnsweredCall,
  ApiCall,
  AssistantTurn,
  ProviderAdapter,
  ProviderResponse,
  StopReason,
  ToolUse,
} from './provider-adapter.ts'

export type AnthropicOptions = Omit<AdapterOptions, 'priceProvider'> & {
  apiKey?: string
  /** A Claude OAuth token, instead of a key. */
  authToken?: string
  baseUrl?: string
  /** How long the provider may send nothing before the request is given up. */
  timeoutMs?: number
  /** Another way to the provider than a direct connection. */
  dial?: Dial
  thinking?: Anthropic.ThinkingConfigParam
  effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max'
}

/** The Messages API through the official SDK, which is loaded with the first call. */
export function createAnthropicAdapter(options: AnthropicOptions): ProviderAdapter {
  const http = createHttpFetch({ idleTimeoutMs: options.timeoutMs, dial: options.dial })
  let client: Promise<Anthropic> | undefined
  const getClient = () => {
    client ??= loadClient(options, http.fetch)
    return client
  }

  return completeAdapter(
    {
      name: 'anthropic',
      close: http.close,
      addAssistantMessage,
      buildToolResultsMessage,
      buildImplicitYieldMessage: (parts) => [{ role: 'user', content: parts.map(toBlock) }],

      prepareTools: (tools, systemPrompt) => {
        const described = tools.map(({ name, description, inputSchema }) => ({
          name,
          description,
          input_schema: inputSchema,
        }))
        const system = [{ type: 'text', text: systemPrompt, ...mark }]
        return openBody(
          { ...(tools.length > 0 && { tools: described }), ...(systemPrompt !== '' && { system }) },
          'messages',
        )
      },

      callAPI: (call, onText) =>
        withOwnSignal(call, async (signal) => {
          const body = buildBody(call, { max_tokens: call.maxOutputTokens, stream: true, ...settingsOf(options) })
          const sdk = await getClient()
          const response = await sdk.post('/v1/messages', rawBody(body, signal)).asResponse()
          return readAnswer(response, onText)
        }),

      async countTokens(call) {
        const body = buildBody(call, {})
        const counted = await (await getClient()).post<{ input_tokens: number }>(
          '/v1/messages/count_tokens',
          rawBody(body, call.signal),
        )
        return counted.input_tokens
      },

      listModels: async (signal) => modelIds(await (await getClient()).get('/v1/models?limit=100', { signal })),
    },
    { ...options, priceProvider: 'anthropic', isOwnServer: options.baseUrl !== undefined },
  )
}

async function loadClient(options: AnthropicOptions, fetch: typeof globalThis.fetch): Promise<Anthropic> {
  const { default: Client } = await import('@anthropic-ai/sdk')
  return new Client({
    apiKey: options.apiKey ?? null,
    authToken: options.authToken ?? null,
    ...(options.baseUrl !== undefined && { baseURL: options.baseUrl }),
    // Without credentials none are sent, and the SDK is told that this is meant.
    ...(!options.apiKey && !options.authToken && { defaultHeaders: { 'x-api-key': null, authorization: null } }),
    // Our fetch gives up on silence; an answer may take as long as it takes.
    timeout: 2 ** 31 - 1,
    // The loop retries; retries of the SDK would multiply with its own.
    maxRetries: 0,
    fetch,
    logLevel: 'off',
    openTelemetry: false,
  })
}

function settingsOf({ thinking, effort }: AnthropicOptions): object {
  return { ...(thinking && { thinking }), ...(effort && { output_config: { effort } }) }
}

const mark = { cache_control: { type: 'ephemeral' } }
const markText = `,${JSON.stringify(mark).slice(1, -1)}`
/** A message of the user side always ends like this: last block, list of blocks, message. */
const messageEnd = '}]}'

/**
 * Marks three places for the provider's cache: the system prompt, the end of this request and the end of the one
 * before. The last is why a turn with many blocks still finds what the turn before it stored.
 */
function buildBody({ model, prepared, messages: { closed, userEnd, open } }: ApiCall, settings: object): Uint8Array[] {
  const marked = `${open.slice(0, -messageEnd.length)}${markText}${messageEnd}`
  const tail = closeBody(marked, { model, ...settings })
  if (userEnd === 0) return [prepared, closed, tail]
  const cut = userEnd - messageEnd.length
  return [prepared, closed.subarray(0, cut), Buffer.from(markText), closed.subarray(cut), tail]
}

/** What is kept of an answer's form when it is more than text followed by calls; text and calls are by reference. */
type Verbatim = { name: 'anthropic'; blocks: object[] }

function addAssistantMessage({ text, calls, provider }: AssistantTurn): object[] {
  const blocks = isVerbatim(provider)
    ? provider.blocks.flatMap((block) => fromVerbatim(block, text, calls))
    : plainBlocks(text, calls)
  // Thinking that led to nothing cannot be sent back.
  const content = blocks.slice(0, blocks.findLastIndex((block) => !isThinking(block)) + 1)
  return content.length === 0 ? [] : [{ role: 'assistant', content }]
}

function isThinking(block: object): boolean {
  return 'type' in block && (block.type === 'thinking' || block.type === 'redacted_thinking')
}

function isVerbatim(provider: unknown): provider is Verbatim {
  return typeof provider === 'object' && provider !== null && 'name' in provider && provider.name === 'anthropic'
}

function plainBlocks(text: string, calls: ToolUse[]): object[] {
  return [...(text.trim() === '' ? [] : [{ type: 'text', text }]), ...calls.map(toToolUse)]
}

function toToolUse({ callId, name, input }: ToolUse): object {
  return { type: 'tool_use', id: callId, name, input }
}

function fromVerbatim(block: object, text: string, calls: ToolUse[]): object[] {
  if ('callId' in block) return calls.filter((call) => call.callId === block.callId).map(toToolUse)
  if ('wholeText' in block) return text.trim() === '' ? [] : [{ type: 'text', text }]
  return 'text' in block && String(block.text).trim() === '' ? [] : [block]
}

function buildToolResultsMessage(results: AnsweredCall[], parts: UserPart[]): object[] {
  const answers = results.map(({ callId, content, isError }) => ({
    type: 'tool_result',
    tool_use_id: callId,
    content: resultBlocks(content),
    ...(isError && { is_error: true }),
  }))
  return [{ role: 'user', content: [...answers, ...parts.map(toBlock)] }]
}

function resultBlocks(content: ToolContent[]): object[] {
  const visible = content.filter((part) => part.type === 'image' || part.text.trim() !== '')
  return visible.length === 0 ? [{ type: 'text', text: nothing }] : visible.map(toBlock)
}

function toBlock(part: UserPart): object {
  if (part.type === 'text') return { type: 'text', text: part.text }
  return { type: 'image', source: { type: 'base64', media_type: part.mediaType, data: part.data } }
}

type OpenBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; written: string }
  | { type: 'other'; block: object }

async function readAnswer(response: Response, onText: (text: string) => void): Promise<ProviderResponse> {
  const blocks: OpenBlock[] = []
  let model = ''
  let usage: TokenUsage | undefined
  let stopReason: Anthropic.StopReason | null = null
  let stopped = false

  try {
    await readBatches(response, (batch) => {
      let shown = ''
      for (const data of batch) {
        const event = parseEvent<Anthropic.RawMessageStreamEvent>(data)
        if (event.type === 'message_start') {
          model = event.message.model
          usage = readUsage(event.message.usage)
        } else if (event.type === 'content_block_start') blocks[event.index] = openBlock(event.content_block)
        else if (event.type === 'content_block_delta') shown += extend(blocks[event.index], event.delta)
        else if (event.type === 'message_delta') {
          stopReason = event.delta.stop_reason
          usage = readUsage(event.usage, usage)
        } else if (event.type === 'message_stop') stopped = true
      }
      if (shown !== '') onText(shown)
    })
  } catch (cause) {
    throw new BrokenAnswer('The answer broke off', soFar(usage, blocks), { cause })
  }
  if (!stopped || !usage) throw new BrokenAnswer('The answer ended before it was complete', soFar(usage, blocks))
  return { model, usage, stopReason: toStopReason(stopReason), ...readBlocks(blocks) }
}

/** The answer itself is counted only at its end: what broke off before it is estimated. */
function soFar(usage: TokenUsage | undefined, blocks: OpenBlock[]): TokenUsage | undefined {
  if (!usage) return undefined
  return { ...usage, outputTokens: Math.max(usage.outputTokens, Math.ceil(JSON.stringify(blocks).length / 4)) }
}

function openBlock(block: Anthropic.ContentBlock): OpenBlock {
  if (block.type === 'text') return { type: 'text', text: block.text }
  if (block.type === 'thinking') return { type: 'thinking', thinking: block.thinking, signature: block.signature }
  if (block.type === 'tool_use') return { type: 'tool_use', id: block.id, name: block.name, written: '' }
  return { type: 'other', block }
}

/** Adds what has come to its block, and answers what of it is to be shown. */
function extend(block: OpenBlock | undefined, delta: Anthropic.RawContentBlockDelta): string {
  if (block?.type === 'text' && delta.type === 'text_delta') {
    block.text += delta.text
    return delta.text
  }
  if (block?.type === 'thinking' && delta.type === 'thinking_delta') block.thinking += delta.thinking
  if (block?.type === 'thinking' && delta.type === 'signature_delta') block.signature += delta.signature
  if (block?.type === 'tool_use' && delta.type === 'input_json_delta') block.written += delta.partial_json
  return ''
}

function readUsage(counted: Anthropic.Usage | Anthropic.MessageDeltaUsage, before?: TokenUsage): TokenUsage {
  return {
    inputTokens: counted.input_tokens ?? before?.inputTokens ?? 0,
    outputTokens: counted.output_tokens,
    cacheReadTokens: counted.cache_read_input_tokens ?? before?.cacheReadTokens ?? 0,
    cacheWriteTokens: counted.cache_creation_input_tokens ?? before?.cacheWriteTokens ?? 0,
  }
}

function toStopReason(reason: Anthropic.StopReason | null): StopReason {
  if (reason === 'tool_use' || reason === 'max_tokens' || reason === 'refusal') return reason
  return reason === 'model_context_window_exceeded' ? 'context_exceeded' : 'end_turn'
}

function readBlocks(blocks: OpenBlock[]): AssistantTurn {
  const texts = blocks.filter((block) => block.type === 'text')
  const calls = blocks.flatMap((block) =>
    block.type === 'tool_use' ? [readArguments(block.id, block.name, block.written)] : [],
  )
  const turn = { text: texts.map((block) => block.text).join(''), calls }
  return isPlain(blocks)
    ? turn
    : { ...turn, provider: { name: 'anthropic', blocks: blocks.map((block) => toVerbatim(block, texts.length)) } }
}

/** At most one text, then calls: what `plainBlocks` writes. */
function isPlain(blocks: OpenBlock[]): boolean {
  return blocks.every((block, index) => block.type === 'tool_use' || (block.type === 'text' && index === 0))
}

function toVerbatim(block: OpenBlock, texts: number): object {
  if (block.type === 'other') return block.block
  if (block.type === 'tool_use') return { callId: block.id }
  return block.type === 'text' && texts === 1 ? { wholeText: true } : { ...block }
}
