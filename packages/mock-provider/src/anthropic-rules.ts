import { Violation } from './api-request.ts'
import { checkToolSchema, checkUnique, isObject, objects, signThinking } from './dialect.ts'

export type Json = Record<string, unknown>
export type Message = { role: string; blocks: Json[]; path: string }

/** What the Messages API demands of a conversation, in its own words where they are known. */
export function checkMessages(messages: Message[]): void {
  if (messages.length === 0) throw new Violation('messages: at least one message is required')
  for (const message of messages) checkContent(message)
  checkCallIds(messages)
  for (const [index, message] of messages.entries()) checkPairing(message, messages[index - 1], messages[index + 1])
  checkDuplicates(messages)
  if (messages.at(-1)?.role === 'assistant')
    throw new Violation(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    )
}

function checkCallIds(messages: Message[]): void {
  const seen = new Set<unknown>()
  for (const { blocks, path } of messages)
    for (const [index, { type, id }] of blocks.entries()) {
      if (type === 'tool_use' && seen.has(id))
        throw new Violation(`${path}.content.${index}: \`tool_use\` ids must be unique`)
      if (type === 'tool_use') seen.add(id)
    }
}

function checkContent({ role, blocks, path }: Message): void {
  if (blocks.length === 0)
    throw new Violation(
      `${path}: all messages must have non-empty content except for the optional final assistant message`,
    )
  if (role === 'assistant' && /thinking$/.test(String(blocks.at(-1)?.type)))
    throw new Violation(`${path}: The final block in an assistant message cannot be \`thinking\`.`)
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'text' && block.text === '')
      throw new Violation('messages: text content blocks must be non-empty')
    if (block.type === 'text' && String(block.text).trim() === '')
      throw new Violation('messages: text content blocks must contain non-whitespace text')
    if (block.type === 'tool_use' && role !== 'assistant')
      throw new Violation(`${path}: \`tool_use\` blocks can only be in \`assistant\` messages`)
    if (block.type === 'tool_use' && !isObject(block.input))
      throw new Violation(`${path}.content.${index}.tool_use.input: Input should be a valid dictionary`)
    if (block.type === 'tool_use' && !/^[a-zA-Z0-9_-]+$/.test(String(block.id)))
      throw new Violation(`${path}.content.${index}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
    if (block.type === 'thinking' && isForged(block))
      throw new Violation(`${path}.content.${index}: Invalid \`signature\` in \`thinking\` block`)
    if (block.type === 'tool_result' && Array.isArray(block.content))
      objects(block.content, `${path}.content.${index}`).forEach((part) => {
        if (part.type === 'text' && part.text === '')
          throw new Violation('messages: text content blocks must be non-empty')
      })
  }
}

function isForged(block: Json): boolean {
  const signature = String(block.signature ?? '')
  return signature === '' || (signature.startsWith('mock:') && signature !== signThinking(String(block.thinking)))
}

/** Results answer exactly the calls of the message before, and stand before anything else. */
function checkPairing(message: Message, before: Message | undefined, after: Message | undefined): void {
  const called = idsOf(message.blocks, 'tool_use', 'id')
  const answered = new Set(idsOf(after?.role === 'user' ? after.blocks : [], 'tool_result', 'tool_use_id'))
  const missing = called.filter((id) => !answered.has(id))
  if (missing.length > 0)
    throw new Violation(
      `${message.path}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    )

  const callsBefore = new Set(before?.role === 'assistant' ? idsOf(before.blocks, 'tool_use', 'id') : [])
  const results = message.blocks.flatMap((block, index) =>
    block.type === 'tool_result' ? [{ id: String(block.tool_use_id), index }] : [],
  )
  for (const { id, index } of results)
    if (!callsBefore.has(id))
      throw new Violation(
        `${message.path}.content.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      )
  checkUnique(
    results.map(({ id }) => id),
    (id) =>
      new Violation(
        `${message.path}.content: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      ),
  )
  if (results.some(({ index }, position) => index !== position))
    throw new Violation(
      `${message.path}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${results.map(({ id }) => id).join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    )
}

/** The API would accept it; a conversation that says the same thing twice in a row was rebuilt wrongly. */
function checkDuplicates(messages: Message[]): void {
  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1]
    if (before && before.role === message.role && JSON.stringify(before.blocks) === JSON.stringify(message.blocks))
      throw new Violation(`${message.path}: the same message twice in a row`)
  }
}

export function checkTools(tools: Json[]): void {
  for (const [index, tool] of tools.entries()) {
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(tool.name)))
      throw new Violation(`tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
    checkToolSchema(tool.input_schema, (what) => new Violation(`tools.${index}.custom.input_schema: ${what}`))
  }
  checkUnique(
    tools.map((tool) => String(tool.name)),
    () => new Violation('tools: Tool names must be unique.'),
  )
}

function idsOf(blocks: Json[], type: string, field: string): string[] {
  return blocks.flatMap((block) => (block.type === type ? [String(block[field])] : []))
}
