import { type ApiRequest, type Block, Violation } from './api-request.ts'
import {
  checkToolSchema,
  checkUnique,
  type Dialect,
  isObject,
  objects,
  pieces,
  type Reply,
  type ResolvedPart,
  text,
} from './dialect.ts'

type Json = Record<string, unknown>

/** Chat Completions, as OpenAI and the many servers that imitate it speak it. */
export const openaiChat: Dialect = {
  name: 'openai-chat',
  read: readRequest,
  stream: streamReply,
  whole: wholeReply,
  error: openaiError,
  errorEvent: (type, message) => data({ error: { message, type, param: null, code: null } }),
}

export function openaiError({ message, type, param, code }: Violation): object {
  return { error: { message, type, param, code } }
}

/** How both OpenAI APIs describe a picture or a text inside a message. */
export function readParts(
  content: unknown,
  path: string,
): { kind: 'text' | 'image'; text: string; bytes: string; path: string }[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content, bytes: JSON.stringify(content), path }]
  return objects(content, path).map((part, index) => {
    const at = `${path}[${index}]`
    if (part.type === 'image_url' || part.type === 'input_image')
      return { kind: 'image', text: '', bytes: JSON.stringify(part), path: at }
    if (part.type !== 'text' && part.type !== 'input_text' && part.type !== 'output_text' && part.type !== 'refusal')
      throw new Violation(
        `Invalid value: '${String(part.type)}'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.`,
      )
    return { kind: 'text', text: text(part.text ?? part.refusal, `${at}.text`), bytes: JSON.stringify(part), path: at }
  })
}

function readRequest(body: Json): ApiRequest {
  if (typeof body.model !== 'string') throw new Violation('you must provide a model parameter')
  const messages = objects(body.messages ?? [], 'messages')
  if (messages.length === 0)
    throw new Violation(
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    )
  const tools = body.tools === undefined ? [] : objects(body.tools, 'tools')
  checkTools(tools)
  checkPairing(messages)
  const system = messages.filter(isInstruction)
  const spoken = messages.flatMap((message, index) =>
    isInstruction(message) ? [] : readMessage(message, `messages[${index}]`),
  )
  if (spoken.at(-1)?.role === 'assistant') throw new Violation('The conversation must end with a user or tool message.')

  return {
    dialect: 'openai-chat',
    model: body.model,
    stream: body.stream === true,
    system: system.map((message) => String(message.content)).join('\n'),
    toolNames: tools.map((tool) => String((tool.function as Json).name)),
    preamble: JSON.stringify({ tools, system }),
    preambleBreakpoint: false,
    blocks: spoken,
  }
}

function isInstruction(message: Json): boolean {
  return message.role === 'system' || message.role === 'developer'
}

function readMessage(message: Json, path: string): Block[] {
  const { role } = message
  if (role !== 'user' && role !== 'assistant' && role !== 'tool')
    throw new Violation(
      `Invalid value: '${String(role)}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.`,
    )
  const blocks: Block[] = []
  if (message.content !== null && message.content !== undefined)
    for (const part of readParts(message.content, `${path}.content`)) {
      if (part.kind === 'text' && part.text === '' && role !== 'tool')
        throw new Violation(`Invalid '${part.path}': empty text.`)
      blocks.push({
        role,
        ...part,
        ...(role === 'tool' ? { kind: 'tool_result', callId: String(message.tool_call_id) } : {}),
        breakpoint: false,
      })
    }
  const calls = message.tool_calls === undefined ? [] : objects(message.tool_calls, `${path}.tool_calls`)
  for (const call of calls) blocks.push(readCall(call, path))
  if (blocks.length === 0) throw new Violation(`Invalid value for 'content': expected a string, got null.`)
  return blocks
}

function readCall(call: Json, path: string): Block {
  const details = isObject(call.function) ? call.function : {}
  const written = text(details.arguments, `${path}.tool_calls.function.arguments`)
  try {
    JSON.parse(written)
  } catch {
    // OpenAI itself is lenient here; servers that render a chat template from the parsed arguments are not.
    throw new Violation(`${path}.tool_calls: the arguments of ${String(details.name)} are not JSON`)
  }
  return {
    role: 'assistant',
    kind: 'tool_call',
    text: written,
    callId: text(call.id, `${path}.tool_calls.id`),
    toolName: text(details.name, `${path}.tool_calls.function.name`),
    bytes: JSON.stringify(call),
    path: `${path}.tool_calls`,
    breakpoint: false,
  }
}

function checkPairing(messages: Json[]): void {
  let open: string[] = []
  const all: string[] = []
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.includes(String(message.tool_call_id)))
        throw new Violation(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          { param: `messages.[${index}].role` },
        )
      open = open.filter((id) => id !== message.tool_call_id)
      continue
    }
    if (open.length > 0) throw unanswered(open)
    open = Array.isArray(message.tool_calls) ? message.tool_calls.map((call) => String((call as Json).id)) : []
    all.push(...open)
  }
  if (open.length > 0) throw unanswered(open)
  checkUnique(all, (id) => new Violation(`Duplicate tool call id: ${id}`))
}

function unanswered(ids: string[]): Violation {
  return new Violation(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
    { param: 'messages' },
  )
}

function checkTools(tools: Json[]): void {
  for (const [index, tool] of tools.entries()) {
    if (tool.type !== 'function' || !isObject(tool.function))
      throw new Violation(`Missing required parameter: 'tools[${index}].function'.`)
    checkFunction(tool.function, `tools[${index}].function`)
  }
  checkUnique(
    tools.map((tool) => String((tool.function as Json).name)),
    (name) => new Violation(`Duplicate function name: ${name}`),
  )
}

export function checkFunction(definition: Json, path: string): void {
  const name = String(definition.name)
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    throw new Violation(
      `Invalid '${path}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' and is at most 64 long.`,
    )
  checkToolSchema(
    definition.parameters,
    (what) =>
      new Violation(`Invalid schema for function '${name}': schema ${what}.`, {
        param: `${path}.parameters`,
        code: 'invalid_function_parameters',
      }),
  )
}

const finishReasons: Record<string, string> = {
  end_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  refusal: 'stop',
}

function finishReason(reply: Reply): string {
  return finishReasons[reply.stopReason] ?? reply.stopReason
}

function usageOf({ usage }: Reply): object {
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.outputTokens,
    total_tokens: prompt + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cacheReadTokens },
  }
}

const created = 1_760_000_000

function wholeReply(reply: Reply): object {
  const calls = reply.parts.flatMap((part) => (part.kind === 'tool_call' ? [wholeCall(part.call)] : []))
  const content = reply.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
  const message = {
    role: 'assistant',
    content: content === '' ? null : content,
    refusal: reply.refusal ?? null,
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  return {
    id: reply.id,
    object: 'chat.completion',
    created,
    model: reply.model,
    choices: [{ index: 0, message, finish_reason: finishReason(reply) }],
    usage: usageOf(reply),
  }
}

function wholeCall(call: { id: string; name: string; arguments: string }): object {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } }
}

function streamReply(reply: Reply): string[] {
  const head = { id: reply.id, object: 'chat.completion.chunk', created, model: reply.model }
  const chunk = (delta: object, finish_reason: string | null = null) =>
    data({ ...head, choices: [{ index: 0, delta, finish_reason }], usage: null })
  let callIndex = -1
  const bodies = reply.parts.flatMap((part) => {
    if (part.kind === 'tool_call') callIndex += 1
    return streamPart(part, callIndex, reply.chunkSize).map((delta) => chunk(delta))
  })
  const refusal =
    reply.refusal === undefined ? [] : pieces(reply.refusal, reply.chunkSize).map((piece) => chunk({ refusal: piece }))
  return [
    chunk({ role: 'assistant', content: '' }),
    ...bodies,
    ...refusal,
    chunk({}, finishReason(reply)),
    data({ ...head, choices: [], usage: usageOf(reply) }),
    'data: [DONE]\n\n',
  ]
}

function streamPart(part: ResolvedPart, index: number, size: number): object[] {
  if (part.kind === 'text') return pieces(part.text, size).map((content) => ({ content }))
  // Not OpenAI's own, but what servers with open reasoning models add.
  if (part.kind === 'thinking') return pieces(part.text, size).map((reasoning_content) => ({ reasoning_content }))
  if (part.kind === 'redacted_thinking') return []
  const { id, name } = part.call
  return [
    { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
    ...pieces(part.call.arguments, size).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ]
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
