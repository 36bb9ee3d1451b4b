import { checkMessages, checkTools, type Json, type Message } from './anthropic-rules.ts'
import { type ApiRequest, type Block, Violation } from './api-request.ts'
import { type Dialect, isObject, objects, pieces, type Reply, type ResolvedPart, text } from './dialect.ts'

/** The Messages API. */
export const anthropic: Dialect = {
  name: 'anthropic',
  read: readRequest,
  stream: streamReply,
  whole: (reply) => ({
    ...messageHead(reply),
    content: reply.parts.map(wholeBlock),
    ...ending(reply),
    usage: usageOf(reply),
  }),
  error: ({ type, message }) => ({ type: 'error', error: { type, message }, request_id: 'req_mock' }),
  errorEvent: (type, message) => event('error', { error: { type, message } }),
}

function readRequest(body: Json): ApiRequest {
  if (typeof body.model !== 'string') throw new Violation('model: Field required')
  const messages = objects(body.messages ?? [], 'messages').map(readMessage)
  const tools = body.tools === undefined ? [] : objects(body.tools, 'tools')
  const system = readSystem(body.system)
  const blocks = messages.flatMap(readBlocks)
  checkMessages(messages)
  checkTools(tools)
  checkBreakpoints(body, system, tools, blocks)

  return {
    dialect: 'anthropic',
    model: body.model,
    stream: body.stream === true,
    system: system.map((block) => block.text).join('\n'),
    toolNames: tools.map((tool) => String(tool.name)),
    preamble: withoutMarks({ tools, system }),
    preambleBreakpoint: [...system, ...tools].some(isMarked),
    blocks: body.cache_control ? markLast(blocks) : blocks,
  }
}

function readSystem(system: unknown): Json[] {
  if (system === undefined) return []
  return typeof system === 'string' ? [{ type: 'text', text: system }] : objects(system, 'system')
}

function readMessage(message: Json, index: number): Message {
  const path = `messages.${index}`
  if (message.role !== 'user' && message.role !== 'assistant')
    throw new Violation(`${path}.role: Input should be 'user' or 'assistant'`)
  if (typeof message.content === 'string')
    return { role: message.role, path, blocks: [{ type: 'text', text: message.content }] }
  return { role: message.role, path, blocks: objects(message.content, `${path}.content`) }
}

function readBlocks({ role, blocks, path }: Message): Block[] {
  return blocks.map((block, index) => ({
    role: block.type === 'tool_result' ? 'tool' : (role as 'user' | 'assistant'),
    ...readBlock(block, `${path}.content.${index}`),
    bytes: withoutMarks(block),
    path: `${path}.content.${index}`,
    breakpoint: isMarked(block),
  }))
}

function readBlock(block: Json, path: string): Pick<Block, 'kind' | 'text' | 'callId' | 'toolName'> {
  switch (block.type) {
    case 'text':
      return { kind: 'text', text: text(block.text, `${path}.text`) }
    case 'image':
      return { kind: 'image', text: '' }
    case 'thinking':
      return { kind: 'thinking', text: text(block.thinking, `${path}.thinking`) }
    case 'redacted_thinking':
      return { kind: 'thinking', text: '' }
    case 'tool_use':
      return {
        kind: 'tool_call',
        text: JSON.stringify(block.input),
        callId: text(block.id, `${path}.tool_use.id`),
        toolName: text(block.name, `${path}.tool_use.name`),
      }
    case 'tool_result':
      return {
        kind: 'tool_result',
        text: resultText(block.content, path),
        callId: text(block.tool_use_id, `${path}.tool_use_id`),
      }
    default:
      throw new Violation(
        `${path}: Input tag '${String(block.type)}' found using 'type' does not match any of the expected tags`,
      )
  }
}

function resultText(content: unknown, path: string): string {
  if (content === undefined) return ''
  if (typeof content === 'string') return content
  return objects(content, `${path}.content`)
    .map((part) => (part.type === 'text' ? String(part.text) : `[${String(part.type)}]`))
    .join('\n')
}

function checkBreakpoints(body: Json, system: Json[], tools: Json[], blocks: Block[]): void {
  if (typeof body.max_tokens !== 'number' && !('count' in body)) throw new Violation('max_tokens: Field required')
  const count =
    [...system, ...tools].filter(isMarked).length +
    blocks.filter((block) => block.breakpoint).length +
    (body.cache_control ? 1 : 0)
  if (count > 4) throw new Violation(`A maximum of 4 blocks with cache_control may be provided. Found ${count}.`)
}

function isMarked(block: Json): boolean {
  return isObject(block.cache_control)
}

function markLast(blocks: Block[]): Block[] {
  return blocks.map((block, index) => (index === blocks.length - 1 ? { ...block, breakpoint: true } : block))
}

function withoutMarks(value: unknown): string {
  return JSON.stringify(value, (key, part) => (key === 'cache_control' ? undefined : part))
}

function messageHead(reply: Reply): object {
  return { id: reply.id, type: 'message', role: 'assistant', model: reply.model }
}

function ending(reply: Reply): { stop_reason: string; stop_sequence: null; stop_details?: object } {
  const end = { stop_reason: reply.stopReason, stop_sequence: null }
  if (reply.refusal === undefined) return end
  return { ...end, stop_details: { type: 'refusal', category: null, explanation: reply.refusal } }
}

function usageOf({ usage }: Reply): object {
  return {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cacheReadTokens,
    output_tokens: usage.outputTokens,
  }
}

function wholeBlock(part: ResolvedPart): object {
  if (part.kind === 'thinking') return { type: 'thinking', thinking: part.text, signature: part.signature }
  if (part.kind === 'redacted_thinking') return { type: 'redacted_thinking', data: part.data }
  if (part.kind === 'text') return { type: 'text', text: part.text }
  return { type: 'tool_use', id: part.call.id, name: part.call.name, input: JSON.parse(part.call.arguments) }
}

function streamReply(reply: Reply): string[] {
  const start = {
    ...messageHead(reply),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usageOf(reply), output_tokens: 1 },
  }
  return [
    event('message_start', { message: start }),
    event('ping', {}),
    ...reply.parts.flatMap((part, index) => streamBlock(part, index, reply.chunkSize)),
    event('message_delta', { delta: ending(reply), usage: usageOf(reply) }),
    event('message_stop', {}),
  ]
}

function streamBlock(part: ResolvedPart, index: number, size: number): string[] {
  const start = (block: object) => event('content_block_start', { index, content_block: block })
  const delta = (change: object) => event('content_block_delta', { index, delta: change })
  const stop = event('content_block_stop', { index })
  switch (part.kind) {
    case 'thinking':
      return [
        start({ type: 'thinking', thinking: '', signature: '' }),
        ...pieces(part.text, size).map((thinking) => delta({ type: 'thinking_delta', thinking })),
        delta({ type: 'signature_delta', signature: part.signature }),
        stop,
      ]
    case 'redacted_thinking':
      return [start({ type: 'redacted_thinking', data: part.data }), stop]
    case 'text':
      return [
        start({ type: 'text', text: '' }),
        ...pieces(part.text, size).map((piece) => delta({ type: 'text_delta', text: piece })),
        stop,
      ]
    case 'tool_call':
      return [
        start({ type: 'tool_use', id: part.call.id, name: part.call.name, input: {} }),
        ...pieces(part.call.arguments, size).map((partial_json) => delta({ type: 'input_json_delta', partial_json })),
        stop,
      ]
  }
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}
