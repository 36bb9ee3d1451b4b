import { type ApiRequest, type Block, Violation } from './api-request.ts'
import { checkUnique, type Dialect, objects, pieces, type Reply, type ResolvedPart, text } from './dialect.ts'
import { checkFunction, openaiError, readParts } from './openai-chat.ts'

type Json = Record<string, unknown>

/** The Responses API, stateless: the whole input is sent each time, reasoning items included. */
export const openaiResponses: Dialect = {
  name: 'openai-responses',
  read: readRequest,
  stream: streamReply,
  whole: (reply) => finished(reply),
  error: openaiError,
  errorEvent: (type, message) => event('error', 0, { code: type, message, param: null }),
}

function readRequest(body: Json): ApiRequest {
  if (typeof body.model !== 'string') throw new Violation("Missing required parameter: 'model'.")
  if (body.previous_response_id)
    throw new Violation('previous_response_id: the mock keeps no state; send the whole input.')
  const input =
    typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : objects(body.input ?? [], 'input')
  if (input.length === 0) throw new Violation("One of 'input' or 'previous_response_id' must be provided.")
  const tools = body.tools === undefined ? [] : objects(body.tools, 'tools')
  for (const [index, tool] of tools.entries()) checkFunction(tool, `tools[${index}]`)
  checkUnique(
    tools.map((tool) => String(tool.name)),
    (name) => new Violation(`Duplicate function name: ${name}`),
  )
  checkItems(input)
  const blocks = input.flatMap((item, index) => readItem(item, `input[${index}]`))
  if (blocks.at(-1)?.role === 'assistant')
    throw new Violation('The input must end with a user message or a function call output.')

  return {
    dialect: 'openai-responses',
    model: body.model,
    stream: body.stream === true,
    system: String(body.instructions ?? ''),
    toolNames: tools.map((tool) => String(tool.name)),
    preamble: JSON.stringify({ instructions: body.instructions, tools }),
    preambleBreakpoint: false,
    blocks,
  }
}

function readItem(item: Json, path: string): Block[] {
  const common = { bytes: JSON.stringify(item), path, breakpoint: false }
  switch (item.type ?? 'message') {
    case 'function_call':
      return [
        {
          role: 'assistant',
          kind: 'tool_call',
          text: text(item.arguments, `${path}.arguments`),
          callId: text(item.call_id, `${path}.call_id`),
          toolName: text(item.name, `${path}.name`),
          ...common,
        },
      ]
    case 'function_call_output':
      return [
        {
          role: 'tool',
          kind: 'tool_result',
          text: outputText(item.output, path),
          callId: text(item.call_id, `${path}.call_id`),
          ...common,
        },
      ]
    case 'reasoning':
      return [{ role: 'assistant', kind: 'thinking', text: '', ...common }]
    case 'message':
      return readMessage(item, path)
    default:
      throw new Violation(`Invalid value: '${String(item.type)}'. ${path}.type is not supported.`)
  }
}

function readMessage(item: Json, path: string): Block[] {
  if (item.role !== 'user' && item.role !== 'assistant')
    throw new Violation(`Invalid value: '${String(item.role)}'. ${path}.role is not supported.`)
  const role = item.role
  return readParts(item.content, `${path}.content`).map((part) => {
    if (part.kind === 'text' && part.text === '') throw new Violation(`Invalid '${part.path}': empty text.`)
    return { role, ...part, breakpoint: false }
  })
}

function outputText(output: unknown, path: string): string {
  return readParts(output, `${path}.output`)
    .map((part) => part.text)
    .join('\n')
}

function checkItems(items: Json[]): void {
  const calls = new Set<string>()
  const answered = new Set<string>()
  for (const [index, item] of items.entries()) {
    if (item.type === 'function_call') {
      const id = String(item.call_id)
      if (calls.has(id)) throw refused(`Duplicate function_call for call_id ${id}.`)
      calls.add(id)
    }
    if (item.type === 'reasoning') checkReasoning(item, items[index + 1])
    if (item.type !== 'function_call_output') continue
    const id = String(item.call_id)
    if (!calls.has(id)) throw refused(`No tool call found for function call output with call_id ${id}.`)
    if (answered.has(id)) throw refused(`Duplicate function_call_output for call_id ${id}.`)
    answered.add(id)
  }
  for (const id of calls) if (!answered.has(id)) throw refused(`No tool output found for function call ${id}.`)
  checkUnique(
    items.flatMap((item) => (typeof item.id === 'string' ? [item.id] : [])),
    (id) => refused(`Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`),
  )
}

function refused(message: string): Violation {
  return new Violation(message, { param: 'input' })
}

function checkReasoning(item: Json, next: Json | undefined): void {
  if (!next || next.role === 'user' || next.type === 'function_call_output')
    throw refused(`Item '${String(item.id)}' of type 'reasoning' was provided without its required following item.`)
  if (typeof item.encrypted_content !== 'string')
    throw new Violation(
      `Item with id '${String(item.id)}' not found. Items are not persisted when \`store\` is set to false.`,
    )
}

function streamReply(reply: Reply): string[] {
  let sequence = 0
  const emit = (type: string, fields: object) => event(type, sequence++, fields)
  const items = outputItems(reply)
  const end = endOf(reply)
  return [
    emit('response.created', { response: { ...head(reply), status: 'in_progress', output: [] } }),
    ...items.flatMap((item, output_index) => streamItem(item, output_index, reply.chunkSize, emit)),
    emit(`response.${end}`, { response: finished(reply) }),
  ]
}

type Emit = (type: string, fields: object) => string

function streamItem(item: Json, output_index: number, size: number, emit: Emit): string[] {
  const place = { item_id: item.id, output_index }
  const added = emit('response.output_item.added', {
    output_index,
    item: { ...item, status: 'in_progress', ...empty(item) },
  })
  const done = () => emit('response.output_item.done', { output_index, item })
  if (item.type === 'function_call')
    return [
      added,
      ...pieces(String(item.arguments), size).map((delta) =>
        emit('response.function_call_arguments.delta', { ...place, delta }),
      ),
      emit('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments }),
      done(),
    ]
  if (item.type === 'message') return [added, ...streamContent(item, place, size, emit), done()]
  return [added, done()]
}

function streamContent(item: Json, place: object, size: number, emit: Emit): string[] {
  const [part] = objects(item.content, 'content')
  if (!part) return []
  const where = { ...place, content_index: 0 }
  const field = part.type === 'refusal' ? 'refusal' : 'text'
  const said = String(part[field])
  const name = part.type === 'refusal' ? 'response.refusal' : 'response.output_text'
  return [
    emit('response.content_part.added', { ...where, part: { ...part, [field]: '' } }),
    ...pieces(said, size).map((delta) => emit(`${name}.delta`, { ...where, delta })),
    emit(`${name}.done`, { ...where, [field]: said }),
    emit('response.content_part.done', { ...where, part }),
  ]
}

function empty(item: Json): object {
  if (item.type === 'function_call') return { arguments: '' }
  return item.type === 'message' ? { content: [] } : {}
}

function outputItems(reply: Reply): Json[] {
  const items = reply.parts.flatMap((part, index) => outputItem(part, `${reply.id.replace('resp_', '')}_${index}`))
  if (reply.refusal !== undefined)
    items.push(messageItem(`msg_${reply.id}_refusal`, { type: 'refusal', refusal: reply.refusal }))
  return items
}

function outputItem(part: ResolvedPart, id: string): Json[] {
  switch (part.kind) {
    case 'thinking':
      return [
        {
          id: part.itemId ?? `rs_${id}`,
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: part.text }],
          encrypted_content: part.signature,
        },
      ]
    case 'redacted_thinking':
      return [{ id: part.itemId ?? `rs_${id}`, type: 'reasoning', summary: [], encrypted_content: part.data }]
    case 'text':
      return [messageItem(part.itemId ?? `msg_${id}`, { type: 'output_text', text: part.text, annotations: [] })]
    case 'tool_call':
      return [
        {
          id: part.itemId ?? `fc_${id}`,
          type: 'function_call',
          call_id: part.call.id,
          name: part.call.name,
          arguments: part.call.arguments,
          status: 'completed',
        },
      ]
  }
}

function messageItem(id: string, content: object): Json {
  return { id, type: 'message', role: 'assistant', status: 'completed', content: [content] }
}

function head(reply: Reply): object {
  return {
    id: reply.id,
    object: 'response',
    created_at: 1_760_000_000,
    model: reply.model,
    error: null,
    incomplete_details: null,
  }
}

function endOf(reply: Reply): 'completed' | 'incomplete' {
  return reply.stopReason === 'max_tokens' || reply.stopReason === 'content_filter' ? 'incomplete' : 'completed'
}

function finished(reply: Reply): object {
  const status = endOf(reply)
  const reason = reply.stopReason === 'max_tokens' ? 'max_output_tokens' : reply.stopReason
  const { usage } = reply
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
  return {
    ...head(reply),
    status,
    incomplete_details: status === 'incomplete' ? { reason } : null,
    output: outputItems(reply),
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: usage.cacheReadTokens },
      output_tokens: usage.outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + usage.outputTokens,
    },
  }
}

function event(type: string, sequence_number: number, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...fields })}\n\n`
}
