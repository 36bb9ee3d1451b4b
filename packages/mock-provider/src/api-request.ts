export type DialectName = 'anthropic' | 'openai-chat' | 'openai-responses'

/** One block of a conversation, whichever API it came through. */
export type Block = {
  role: 'user' | 'assistant' | 'tool' | 'system'
  kind: 'text' | 'image' | 'tool_call' | 'tool_result' | 'thinking'
  text: string
  callId?: string
  /** Which tool a call is for. */
  toolName?: string
  /** As it was sent, without cache marks: what the provider's prompt cache compares. */
  bytes: string
  /** Where in the request it stands, as the API's own errors would say it. */
  path: string
  /** Whether the sender asked for the prompt to be cached up to here. */
  breakpoint: boolean
}

/** A request to a model, read from any of the three APIs. */
export type ApiRequest = {
  dialect: DialectName
  model: string
  stream: boolean
  system: string
  toolNames: string[]
  /** System prompt and tools as they were sent. */
  preamble: string
  preambleBreakpoint: boolean
  blocks: Block[]
}

/** A request that the real API would turn down, with its own words and status where they are known. */
export class Violation extends Error {
  override readonly name = 'Violation'
  readonly status: number
  readonly type: string
  /** Which part of the request OpenAI would name, and its code for what is wrong. */
  readonly param: string | null
  readonly code: string | null

  constructor(message: string, options: { status?: number; type?: string; param?: string; code?: string } = {}) {
    super(message)
    this.param = options.param ?? null
    this.code = options.code ?? null
    this.status = options.status ?? 400
    this.type = options.type ?? 'invalid_request_error'
  }
}

/** What was said since the model last spoke. */
export function sinceLastAnswer(request: ApiRequest): Block[] {
  const last = request.blocks.findLastIndex((block) => block.role === 'assistant')
  return request.blocks.slice(last + 1)
}

/** What an agent is told before it first speaks: the system prompt, and all that was said to it. */
export function openingText(request: ApiRequest): string {
  const first = request.blocks.findIndex((block) => block.role === 'assistant')
  return [request.system, joinText(first < 0 ? request.blocks : request.blocks.slice(0, first))].join('\n')
}

export function joinText(blocks: Block[]): string {
  return blocks.map((block) => block.text).join('\n')
}
