import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as z from 'zod'

/** A call that the model is told to make. `tool` is how the name of the tool ends. */
export type Step = { tool: string; input: Record<string, unknown> }

export type ObedientModel = {
  url: string
  /** What of the requests the API would refuse. */
  complaints: readonly string[]
  /** The bodies of all requests, which is all that a provider gets to see. */
  requests: readonly string[]
  close(): Promise<void>
}

export type ModelOptions = {
  /** Whose orders it follows: those of messages, or those of everything it reads, tool results included. */
  heeds?: 'messages' | 'everything'
}

const marker = 'Do exactly these steps, one after the other:'

/** What the user says so that the model does this. */
export function orderSteps(steps: readonly Step[]): string {
  return `${marker}\n${JSON.stringify(steps)}`
}

const Block = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string().min(1) }),
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.record(z.string(), z.unknown()) }),
  z.object({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    is_error: z.boolean().optional(),
    content: z.unknown(),
  }),
])
const Content = z.union([z.string().min(1), z.array(Block).min(1)])
const Message = z.object({ role: z.enum(['user', 'assistant']), content: Content })
const Request = z.object({
  model: z.string().min(1),
  max_tokens: z.number().int().positive(),
  stream: z.literal(true),
  messages: z.array(Message).min(1),
  tools: z.array(z.object({ name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/), input_schema: z.object({}).loose() })),
})
type Request = z.infer<typeof Request>
type Block = z.infer<typeof Block>

/**
 * A model that does what it was told and nothing else, over the streaming Messages API of Anthropic. It keeps no state: the
 * conversation says which step is next. Written apart from mock-provider, as a second opinion on the protocol.
 */
export async function startObedientModel({ heeds = 'messages' }: ModelOptions = {}): Promise<ObedientModel> {
  const complaints: string[] = []
  const requests: string[] = []
  const server = createServer((request, response) => {
    answer(request, response, { heeds, requests }).catch((error: unknown) => {
      const message = error instanceof Error ? error.message : String(error)
      complaints.push(message)
      refuse(response, message)
    })
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    complaints,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type Answering = Required<ModelOptions> & { requests: string[] }

async function answer(request: IncomingMessage, response: ServerResponse, to: Answering): Promise<void> {
  if (request.method !== 'POST' || !request.url?.startsWith('/v1/messages'))
    throw new Error(`${request.method} ${request.url} is not part of the Messages API.`)
  const { 'x-api-key': key, authorization = key, 'anthropic-version': version } = request.headers
  if (!authorization) throw new Error('The request has no key.')
  if (!version) throw new Error('The header anthropic-version is missing.')
  const text = await textOf(request)
  to.requests.push(text)
  const body = Request.parse(JSON.parse(text))
  checkPairs(body)
  const step = nextStep(body, to.heeds)
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  for (const event of step ? callEvents(body, step) : restEvents(body)) response.write(event)
  response.end()
}

/** Every call is answered in the next message, by its id and before any text; nothing is answered that was not called. */
function checkPairs({ messages }: Request): void {
  if (messages[0]?.role !== 'user') throw new Error('The first message is not from the user.')
  for (const [index, { role, content }] of messages.entries()) {
    if (messages[index - 1]?.role === role) throw new Error(`Two messages in a row are from the ${role}.`)
    const called = idsOf(messages[index - 1]?.content, 'tool_use')
    const answered = idsOf(content, 'tool_result')
    if (called.toSorted().join() !== answered.toSorted().join())
      throw new Error(`Message ${index} answers [${answered}], but [${called}] were called.`)
    const firstOther = blocksOf(content).findIndex(({ type }) => type !== 'tool_result')
    if (firstOther >= 0 && firstOther < answered.length) throw new Error(`Message ${index} has text before a result.`)
  }
  if (messages.at(-1)?.role !== 'user') throw new Error('The last message is not from the user.')
}

function idsOf(content: z.infer<typeof Content> | undefined, type: 'tool_use' | 'tool_result'): string[] {
  return blocksOf(content).flatMap((block) => {
    if (block.type !== type) return []
    return block.type === 'tool_use' ? [block.id] : block.type === 'tool_result' ? [block.tool_use_id] : []
  })
}

function blocksOf(content: z.infer<typeof Content> | undefined): Block[] {
  if (content === undefined) return []
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** The first step of the last order that was not called since. */
function nextStep(
  { messages, tools }: Request,
  heeds: Answering['heeds'],
): { name: string; input: object; id: string } | undefined {
  const at = messages.findLastIndex(({ content }) => orderIn(content, heeds))
  const order = messages[at] && orderIn(messages[at].content, heeds)
  if (!order) return undefined
  const done = messages.slice(at).flatMap(({ content }) => idsOf(content, 'tool_use')).length
  const step = order[done]
  if (!step) return undefined
  const name = tools.find((tool) => tool.name === step.tool || tool.name.endsWith(`__${step.tool}`))?.name
  if (!name) throw new Error(`No tool ${step.tool} was offered, only ${tools.map((tool) => tool.name).join(', ')}.`)
  return { name, input: step.input, id: `toolu_${at}_${done}` }
}

function orderIn(content: z.infer<typeof Content>, heeds: Answering['heeds']): Step[] | undefined {
  const text = blocksOf(content)
    .map((block) => wordsOf(block, heeds))
    .findLast((words) => words.includes(marker))
  if (text === undefined) return undefined
  const [line = ''] = text
    .slice(text.indexOf(marker) + marker.length)
    .trimStart()
    .split('\n')
  return JSON.parse(line) as Step[]
}

function wordsOf(block: Block, heeds: Answering['heeds']): string {
  if (block.type === 'text') return block.text
  if (block.type !== 'tool_result' || heeds === 'messages') return ''
  const parts = z.array(z.object({ text: z.string().default('') })).safeParse(block.content)
  return parts.success ? parts.data.map(({ text }) => text).join('\n') : String(block.content)
}

const event = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

function* callEvents(body: Request, { name, input, id }: { name: string; input: object; id: string }) {
  yield startEvent(body)
  yield event('ping')
  yield event('content_block_start', { index: 0, content_block: { type: 'tool_use', id, name, input: {} } })
  // Arguments arrive in pieces that are no JSON on their own, the first of them empty.
  const json = JSON.stringify(input)
  const pieces = ['', ...(json.match(/[\s\S]{1,40}/g) ?? [])]
  for (const partial_json of pieces)
    yield event('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json } })
  yield* endEvents('tool_use', pieces.length)
}

function* restEvents(body: Request) {
  yield startEvent(body)
  yield event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
  yield event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'All steps are done.' } })
  yield* endEvents('end_turn', 5)
}

function startEvent({ model, messages }: Request): string {
  const usage = { input_tokens: 100 * messages.length, output_tokens: 1 }
  const message = { id: `msg_${messages.length}`, type: 'message', role: 'assistant', model, content: [] }
  return event('message_start', { message: { ...message, stop_reason: null, stop_sequence: null, usage } })
}

function* endEvents(stop_reason: 'tool_use' | 'end_turn', output_tokens: number) {
  yield event('content_block_stop', { index: 0 })
  yield event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens } })
  yield event('message_stop')
}

function refuse(response: ServerResponse, message: string): void {
  if (response.headersSent) return void response.destroy()
  const error = { type: 'invalid_request_error', message }
  response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ type: 'error', error }))
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}
