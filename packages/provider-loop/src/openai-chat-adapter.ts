import type { TokenUsage } from '@matrix/protocol'
import type OpenAI from 'openai'
import {
  closeBody,
  completeAdapter,
  estimateUsage,
  nothing,
  openBody,
  rawBody,
  readArguments,
  withOwnSignal,
} from './adapter-base.ts'
import { parseEvent, readBatches } from './answer-events.ts'
import { BrokenAnswer } from './failure.ts'
import type { UserPart } from './message-text.ts'
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

type Chunk = OpenAI.ChatCompletionChunk

/** Chat Completions, for OpenAI and for the many servers that imitate it. */
export function createOpenaiChatAdapter(options: OpenaiOptions): ProviderAdapter {
  const client = openaiClient(options)
  // Older than its successor, and the only name that every imitation knows.
  const limit = options.baseUrl === undefined ? 'max_completion_tokens' : 'max_tokens'

  return completeAdapter(
    {
      name: 'openai-chat',
      close: client.close,
      listModels: client.listModels,
      addAssistantMessage,
      buildToolResultsMessage,
      buildImplicitYieldMessage: (parts) => [userMessage(parts)],

      prepareTools: (tools, systemPrompt) => {
        const described = tools.map(({ name, description, inputSchema }) => ({
          type: 'function',
          function: { name, description, parameters: inputSchema },
        }))
        const head = openBody(tools.length > 0 ? { tools: described } : {}, 'messages')
        return systemPrompt === ''
          ? head
          : Buffer.concat([head, Buffer.from(`${formatRequestJson({ role: 'system', content: systemPrompt })},`)])
      },

      callAPI: (call, onText) =>
        withOwnSignal(call, async (signal) => {
          const { prepared, messages, model, maxOutputTokens } = call
          const settings = { model, stream: true, stream_options: { include_usage: true }, [limit]: maxOutputTokens }
          const body = [prepared, messages.closed, closeBody(messages.open, settings)]
          const sdk = await client.get()
          const response = await sdk.post('/chat/completions', rawBody(body, signal)).asResponse()
          return readAnswer(response, call, onText)
        }),
    },
    { ...options, priceProvider: 'openai', isOwnServer: options.baseUrl !== undefined },
  )
}

function addAssistantMessage({ text, calls }: AssistantTurn): object[] {
  if (text.trim() === '' && calls.length === 0) return []
  const content = text.trim() === '' ? {} : { content: text }
  return [{ role: 'assistant', ...content, ...(calls.length > 0 && { tool_calls: calls.map(toCall) }) }]
}

function toCall({ callId, name, input }: ToolUse): object {
  return { id: callId, type: 'function', function: { name, arguments: formatRequestJson(input) } }
}

/** One message per result; pictures, which a result cannot hold, follow with what the user said. */
function buildToolResultsMessage(results: AnsweredCall[], parts: UserPart[]): object[] {
  const answers = results.map((result) => ({ role: 'tool', tool_call_id: result.callId, content: resultText(result) }))
  const said = [...results.flatMap(pictures), ...parts]
  return said.length === 0 ? answers : [...answers, userMessage(said)]
}

export function resultText({ content, isError }: AnsweredCall): string {
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  return `${isError ? '[error] ' : ''}${text.trim() === '' ? nothing : text}`
}

function pictures({ name, content }: AnsweredCall): UserPart[] {
  const images = content.filter((part) => part.type === 'image')
  return images.length === 0 ? [] : [{ type: 'text', text: `[Pictures that ${name} returned]` }, ...images]
}

function userMessage(parts: UserPart[]): object {
  return { role: 'user', content: parts.map(toPart) }
}

function toPart(part: UserPart): object {
  if (part.type === 'text') return { type: 'text', text: part.text }
  return { type: 'image_url', image_url: { url: `data:${part.mediaType};base64,${part.data}` } }
}

type OpenCall = { index: number; id: string; name: string; written: string }

async function readAnswer(
  response: Response,
  call: ApiCall,
  onText: (text: string) => void,
): Promise<ProviderResponse> {
  const calls: OpenCall[] = []
  let text = ''
  let model = call.model
  let refused = false
  let finish: OpenAI.ChatCompletionChunk.Choice['finish_reason'] = null
  let usage: TokenUsage | undefined
  let begun = false
  // Counted only at the end, and by some servers not at all.
  const spent = () => usage ?? (begun ? estimateUsage(call, lengthOf(text, calls)) : undefined)

  try {
    await readBatches(response, (batch) => {
      const before = text.length
      for (const data of batch) {
        const chunk = parseEvent<Chunk>(data)
        begun = true
        model = chunk.model || model
        if (chunk.usage) usage = readUsage(chunk.usage)
        const [choice] = chunk.choices
        if (!choice) continue
        const { content, refusal, tool_calls } = choice.delta
        refused ||= Boolean(refusal)
        text += `${content ?? ''}${refusal ?? ''}`
        for (const piece of tool_calls ?? []) addPiece(calls, piece, chunk.id)
        finish = choice.finish_reason ?? finish
      }
      if (text.length > before) onText(text.slice(before))
    })
  } catch (cause) {
    throw new BrokenAnswer('The answer broke off', spent(), { cause })
  }
  const counted = spent()
  if (finish === null || !counted) throw new BrokenAnswer('The answer ended before it was complete', counted)
  return {
    model,
    text,
    calls: calls.map(({ id, name, written }) => readArguments(id, name, written)),
    usage: counted,
    stopReason: refused ? 'refusal' : toStopReason(finish, calls.length),
  }
}

/** Some servers send no index, the same index for all, or no id: a new id or a new name begins a new call. */
function addPiece(
  calls: OpenCall[],
  piece: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall,
  responseId: string,
): void {
  const index = piece.index ?? 0
  const last = calls.findLast((call) => call.index === index)
  const begins = !last || (piece.id && piece.id !== last.id && piece.function?.name)
  if (begins)
    calls.push({
      index,
      id: piece.id || `${responseId}-${calls.length}`,
      name: piece.function?.name ?? '',
      written: piece.function?.arguments ?? '',
    })
  else last.written += piece.function?.arguments ?? ''
}

function readUsage({ prompt_tokens, completion_tokens, prompt_tokens_details }: OpenAI.CompletionUsage): TokenUsage {
  const cacheReadTokens = prompt_tokens_details?.cached_tokens ?? 0
  return {
    inputTokens: prompt_tokens - cacheReadTokens,
    outputTokens: completion_tokens,
    cacheReadTokens,
    cacheWriteTokens: 0,
  }
}

function lengthOf(text: string, calls: OpenCall[]): number {
  return text.length + calls.reduce((sum, { name, written }) => sum + name.length + written.length, 0)
}

function toStopReason(
  finish: NonNullable<OpenAI.ChatCompletionChunk.Choice['finish_reason']>,
  calls: number,
): StopReason {
  if (finish === 'length') return 'max_tokens'
  if (finish === 'content_filter') return 'refusal'
  return calls > 0 ? 'tool_use' : 'end_turn'
}
