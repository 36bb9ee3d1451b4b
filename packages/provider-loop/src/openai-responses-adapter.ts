import type { TokenUsage } from '@matrix/protocol'
import type OpenAI from 'openai'
import {
  closeBody,
  completeAdapter,
  estimateUsage,
  openBody,
  rawBody,
  readArguments,
  withOwnSignal,
} from './adapter-base.ts'
import { parseEvent, readBatches } from './answer-events.ts'
import { BrokenAnswer } from './failure.ts'
import type { UserPart } from './message-text.ts'
import { resultText } from './openai-chat-adapter.ts'
import { type OpenaiOptions, openaiClient } from './openai-client.ts'
import type {
  AnsweredCall,
  ApiCall,
  AssistantTurn,
  ProviderAdapter,
  ProviderResponse,
  StopReason,
  ToolUse,
} from './provider-adapter.ts'
import { formatRequestJson } from './request-json.ts'

type Item = OpenAI.Responses.ResponseOutputItem
type StreamEvent = OpenAI.Responses.ResponseStreamEvent
type Answer = OpenAI.Responses.Response

export type OpenaiResponsesOptions = OpenaiOptions & {
  effort?: 'minimal' | 'low' | 'medium' | 'high'
  /** Whether the model thinks before it answers; by its name if not said. */
  reasoning?: boolean
}

/** The Responses API of OpenAI itself. Nothing is kept there: reasoning comes back encrypted and is sent again. */
export function createOpenaiResponsesAdapter(options: OpenaiResponsesOptions): ProviderAdapter {
  const client = openaiClient(options)

  return completeAdapter(
    {
      name: 'openai-responses',
      close: client.close,
      listModels: client.listModels,
      addAssistantMessage,
      buildToolResultsMessage: (results, parts) => [
        ...results.map(toOutput),
        ...(parts.length > 0 ? [userMessage(parts)] : []),
      ],
      buildImplicitYieldMessage: (parts) => [userMessage(parts)],

      prepareTools: (tools, systemPrompt) => {
        const described = tools.map(({ name, description, inputSchema }) => ({
          type: 'function',
          name,
          description,
          parameters: inputSchema,
          strict: false,
        }))
        return openBody(
          { ...(systemPrompt !== '' && { instructions: systemPrompt }), ...(tools.length > 0 && { tools: described }) },
          'input',
        )
      },

      callAPI: (call, onText) =>
        withOwnSignal(call, async (signal) => {
          const { prepared, messages, model, maxOutputTokens, sessionId } = call
          const settings = {
            model,
            stream: true,
            store: false,
            max_output_tokens: maxOutputTokens,
            prompt_cache_key: sessionId,
            ...reasoningSettings(model, options),
          }
          const body = [prepared, messages.closed, closeBody(messages.open, settings)]
          const sdk = await client.get()
          const response = await sdk.post('/responses', rawBody(body, signal)).asResponse()
          return readAnswer(response, call, onText)
        }),
    },
    { ...options, priceProvider: 'openai', isOwnServer: options.baseUrl !== undefined },
  )
}

function reasoningSettings(model: string, { effort, reasoning }: OpenaiResponsesOptions): object {
  if (!(reasoning ?? /^(o\d|gpt-5|codex)/.test(model))) return {}
  return { include: ['reasoning.encrypted_content'], ...(effort && { reasoning: { effort } }) }
}

/** What is kept of an answer's form when it is more than text followed by calls; text and calls are by reference. */
type Verbatim = { name: 'openai-responses'; items: object[] }

function addAssistantMessage({ text, calls, provider }: AssistantTurn): object[] {
  const items = isVerbatim(provider)
    ? provider.items.flatMap((item) => fromVerbatim(item, text, calls))
    : plainItems(text, calls)
  // Reasoning that led to nothing cannot be sent back.
  return items.slice(0, items.findLastIndex((item) => !('type' in item) || item.type !== 'reasoning') + 1)
}

function isVerbatim(provider: unknown): provider is Verbatim {
  return typeof provider === 'object' && provider !== null && 'name' in provider && provider.name === 'openai-responses'
}

function plainItems(text: string, calls: ToolUse[]): object[] {
  return [...(text.trim() === '' ? [] : [{ role: 'assistant', content: text }]), ...calls.map((call) => toCall(call))]
}

function toCall({ callId, name, input }: ToolUse, id?: string): object {
  return {
    ...(id !== undefined && { id }),
    type: 'function_call',
    call_id: callId,
    name,
    arguments: formatRequestJson(input),
  }
}

function fromVerbatim(item: object, text: string, calls: ToolUse[]): object[] {
  if ('callId' in item)
    return calls
      .filter((call) => call.callId === item.callId)
      .map((call) => toCall(call, 'id' in item ? String(item.id) : undefined))
  if (!('wholeText' in item)) return [item]
  if (text.trim() === '') return []
  return [
    {
      id: item.wholeText,
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [] }],
    },
  ]
}

function toOutput(result: AnsweredCall): object {
  const images = result.content.filter((part) => part.type === 'image')
  const text = resultText(result)
  const output = images.length === 0 ? text : [{ type: 'input_text', text }, ...images.map(toPart)]
  return { type: 'function_call_output', call_id: result.callId, output }
}

function userMessage(parts: UserPart[]): object {
  return { role: 'user', content: parts.map(toPart) }
}

function toPart(part: UserPart): object {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  return { type: 'input_image', detail: 'auto', image_url: `data:${part.mediaType};base64,${part.data}` }
}

async function readAnswer(
  response: Response,
  call: ApiCall,
  onText: (text: string) => void,
): Promise<ProviderResponse> {
  const items: Item[] = []
  let final: Answer | undefined
  let received: number | undefined
  // Counted only at the end: what breaks off before it is estimated.
  const spent = () => {
    if (final?.usage) return readUsage(final.usage)
    return received === undefined ? undefined : estimateUsage(call, received)
  }

  try {
    await readBatches(response, (batch) => {
      let shown = ''
      for (const data of batch) {
        const event = parseEvent<StreamEvent>(data)
        received ??= 0
        if ('delta' in event && typeof event.delta === 'string') received += event.delta.length
        if (event.type === 'response.output_text.delta' || event.type === 'response.refusal.delta') shown += event.delta
        else if (event.type === 'response.output_item.done') items[event.output_index] = event.item
        else if (event.type === 'response.completed' || event.type === 'response.incomplete') final = event.response
        else if (event.type === 'response.failed') fail(event.response.error)
        else if (event.type === 'error') fail(event)
      }
      if (shown !== '') onText(shown)
    })
  } catch (cause) {
    throw new BrokenAnswer('The answer broke off', spent(), { cause })
  }
  const usage = spent()
  if (!final || !usage) throw new BrokenAnswer('The answer ended before it was complete', usage)
  const turn = readItems(items.filter((item) => item !== undefined))
  return {
    ...turn,
    model: final.model,
    usage,
    stopReason: toStopReason(final, items, turn.calls.length),
  }
}

function fail(error: { message: string } | null): never {
  throw new Error(error?.message ?? 'The response failed')
}

function readItems(items: Item[]): AssistantTurn {
  const messages = items.filter((item) => item.type === 'message')
  const calls = items.flatMap((item) =>
    item.type === 'function_call' ? [readArguments(item.call_id, item.name, item.arguments)] : [],
  )
  const turn = { text: messages.map(messageText).join(''), calls }
  return isPlain(items)
    ? turn
    : { ...turn, provider: { name: 'openai-responses', items: items.map((item) => toVerbatim(item, messages.length)) } }
}

function messageText({ content }: OpenAI.Responses.ResponseOutputMessage): string {
  return content.map((part) => (part.type === 'output_text' ? part.text : part.refusal)).join('')
}

/** At most one message, then calls: what `plainItems` writes. */
function isPlain(items: Item[]): boolean {
  return items.every((item, index) => item.type === 'function_call' || (item.type === 'message' && index === 0))
}

function toVerbatim(item: Item, messages: number): object {
  if (item.type === 'function_call') return { callId: item.call_id, id: item.id }
  if (item.type === 'message' && messages === 1) return { wholeText: item.id }
  return item
}

function readUsage(counted: OpenAI.Responses.ResponseUsage): TokenUsage {
  const cacheReadTokens = counted.input_tokens_details?.cached_tokens ?? 0
  return {
    inputTokens: counted.input_tokens - cacheReadTokens,
    outputTokens: counted.output_tokens,
    cacheReadTokens,
    cacheWriteTokens: 0,
  }
}

function toStopReason(final: Answer, items: Item[], calls: number): StopReason {
  const reason = final.incomplete_details?.reason
  if (reason === 'max_output_tokens') return 'max_tokens'
  const refused = items.some((item) => item?.type === 'message' && item.content.some((part) => part.type === 'refusal'))
  if (reason === 'content_filter' || refused) return 'refusal'
  return calls > 0 ? 'tool_use' : 'end_turn'
}
