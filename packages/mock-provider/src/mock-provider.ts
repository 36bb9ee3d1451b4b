import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { MatrixError } from '@matrix/protocol'
import { type ApiRequest, Violation } from './api-request.ts'
import { dialects } from './check-request.ts'
import { type Dialect, isObject, type Reply } from './dialect.ts'
import type { Conversation, Fault, Playbook, Turn } from './playbook.ts'
import { checkPlaybook } from './playbook-file.ts'
import { countTokens } from './prompt-cache.ts'
import { createOrderedCast } from './script.ts'
import { createStatelessCast } from './stateless-script.ts'

/** A request as it arrived, for tests that look closer than an assertion can. */
export type SeenRequest = {
  path: string
  headers: Record<string, string | string[] | undefined>
  body: string
  conversation: string | undefined
}

export type MockProvider = {
  /** For the Anthropic SDK. */
  url: string
  /** For the OpenAI SDK, which wants the version in it. */
  openaiUrl: string
  /** Adds a conversation; turns alone are a conversation with anybody. */
  play(conversation: Conversation | Turn[]): void
  requests: SeenRequest[]
  /** What was wrong with the requests so far, in words. */
  problems: string[]
  /** How many scripted turns nobody asked for yet. */
  remaining(): number
  /** The same by conversation, without those that were played to their end. */
  unplayed(): { name: string; turns: number }[]
  /** Throws `MOCK_FAILED` unless every request was right and every turn was played. */
  verify(): void
  close(): Promise<void>
}

export type MockProviderOptions = {
  playbook?: Playbook
  turns?: Turn[]
  port?: number
  host?: string
  /** Keep no copy of the requests, for runs that last long. */
  forgetful?: boolean
  /** Told of every problem as it is found. */
  onProblem?: (problem: string) => void
}

const paths: [suffix: string, dialect: Dialect][] = [
  ['/messages', dialects.anthropic],
  ['/chat/completions', dialects['openai-chat']],
  ['/responses', dialects['openai-responses']],
]

/** Listens on localhost and plays the model. */
export async function openMockProvider(options: MockProviderOptions = {}): Promise<MockProvider> {
  const stage = openStage(options)
  const server = createServer((request, response) => {
    response.on('error', () => {})
    void stage.serve(request, response).catch((error: unknown) => {
      stage.complain(`the mock itself failed: ${String(error)}`)
      response.destroy()
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve)
  })
  const { address, port, family } = server.address() as AddressInfo
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`

  return {
    url,
    openaiUrl: `${url}/v1`,
    play: stage.play,
    requests: stage.requests,
    problems: stage.problems,
    remaining: stage.remaining,
    unplayed: stage.unplayed,
    verify: stage.verify,
    async close() {
      stage.stop()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type Stage = Pick<MockProvider, 'play' | 'requests' | 'problems' | 'remaining' | 'unplayed' | 'verify'> & {
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>
  complain(problem: string): void
  stop(): void
}

/** Everything but the listening: which script a request belongs to, and what it gets. */
function openStage({ playbook, turns, forgetful, onProblem }: MockProviderOptions): Stage {
  if (playbook) checkPlaybook(playbook)
  const cast = playbook?.stateless ? createStatelessCast(playbook) : createOrderedCast()
  const requests: SeenRequest[] = []
  const problems: string[] = []
  const closing = new AbortController()

  function complain(problem: string): void {
    problems.push(problem)
    onProblem?.(problem)
  }

  function play(conversation: Conversation | Turn[]): void {
    cast.add(Array.isArray(conversation) ? { turns: conversation } : conversation)
  }
  for (const conversation of playbook?.conversations ?? []) play(conversation)
  if (turns) play(turns)

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace(/\?.*$/, '')
    const body = await readBody(request)
    const counting = path.endsWith('/count_tokens')
    const dialect = paths.find(([suffix]) => path.replace('/count_tokens', '').endsWith(suffix))?.[1]
    if (!dialect)
      return sendJson(response, 404, {
        error: { type: 'not_found_error', message: `${request.method} ${path} is not a path of the mock` },
      })

    const seen: SeenRequest = { path, headers: request.headers, body, conversation: undefined }
    if (!forgetful) requests.push(seen)
    try {
      const parsed = dialect.read(parseBody(body, counting))
      if (counting) return sendJson(response, 200, { input_tokens: countAll(parsed) })
      const script = cast.find(parsed, apiKeyOf(request))
      seen.conversation = script.name
      const cue = script.cue(parsed)
      if (cue.turn.delayMs) await pause(cue.turn.delayMs, closing.signal)
      if (cue.fault) return await playFault(cue.fault, { response, dialect, reply: cue.reply, stream: parsed.stream })
      if (!parsed.stream) sendJson(response, 200, dialect.whole(cue.reply))
      else if (!(await sendStream(response, dialect.stream(cue.reply), cue.turn.chunkDelayMs ?? 0, closing.signal)))
        return
      cue.answered()
    } catch (error) {
      if (!(error instanceof Violation)) throw error
      complain(error.message)
      sendJson(response, error.status, dialect.error(error))
    }
  }

  function unplayed(): { name: string; turns: number }[] {
    return cast.remaining().filter(({ turns }) => turns > 0)
  }

  function remaining(): number {
    return unplayed().reduce((sum, { turns }) => sum + turns, 0)
  }

  function verify(): void {
    const left = unplayed().map(({ name, turns }) => `${name}: ${turns} scripted turns were never asked for`)
    const all = [...problems, ...left]
    if (all.length > 0) throw new MatrixError('MOCK_FAILED', all.join('\n'))
  }

  return { play, requests, problems, remaining, unplayed, verify, serve, complain, stop: () => closing.abort() }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function parseBody(text: string, counting: boolean): Record<string, unknown> {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new Violation('The request body is not valid JSON')
  }
  if (!isObject(body)) throw new Violation('The request body must be a JSON object')
  if (hasHalfCharacter(text)) throw new Violation('The request body is not valid JSON: no low surrogate in string')
  return counting ? { ...body, count: true } : body
}

/** JSON.stringify escapes a surrogate only where its other half is missing. */
function hasHalfCharacter(json: string): boolean {
  return /\\ud/i.test(json) && /(?<!\\)(?:\\\\)*\\ud/.test(JSON.stringify(JSON.parse(json)))
}

function apiKeyOf({ headers }: IncomingMessage): string {
  return String(headers['x-api-key'] ?? headers.authorization ?? '')
}

function countAll(request: ApiRequest): number {
  return request.blocks.reduce((sum, block) => sum + countTokens(block.bytes), countTokens(request.preamble))
}

function sendJson(response: ServerResponse, status: number, value: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_mock', ...headers })
  response.end(JSON.stringify(value))
}

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'request-id': 'req_mock',
}

/** Answers whether the listener stayed to the end: what nobody heard was not said. */
async function sendStream(
  response: ServerResponse,
  events: string[],
  delayMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  response.writeHead(200, streamHeaders)
  const pieces = delayMs > 0 ? events : [events.join('')]
  for (const piece of pieces) {
    if (response.destroyed) return false
    response.write(piece)
    if (delayMs > 0) await pause(delayMs, signal)
  }
  if (response.destroyed) return false
  response.end()
  return true
}

type Scene = { response: ServerResponse; dialect: Dialect; reply: Reply; stream: boolean }

async function playFault(fault: Fault, { response, dialect, reply }: Scene): Promise<void> {
  switch (fault.kind) {
    case 'status':
      return sendJson(response, fault.status, dialect.error(statusViolation(fault)), retryHeaders(fault))
    case 'disconnect':
      response.destroy()
      return
    case 'garbage':
      response.writeHead(200, streamHeaders)
      response.end('event: message_start\ndata: {"type": "mess\u0000\n\n<html>')
      return
    case 'silence':
      return
    case 'cut':
    case 'truncate':
    case 'error_event': {
      response.writeHead(200, streamHeaders)
      const head = dialect.stream(reply).slice(0, fault.afterEvents).join('')
      const last =
        fault.kind === 'error_event' ? dialect.errorEvent(fault.type ?? 'overloaded_error', 'Overloaded') : ''
      if (fault.kind === 'cut') response.write(head, () => response.destroy())
      else response.end(head + last)
      return
    }
  }
}

const statusTypes: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
}

function statusViolation(fault: Extract<Fault, { kind: 'status' }>): Violation {
  const type = statusTypes[fault.status] ?? 'api_error'
  return new Violation(fault.message ?? (fault.status === 529 ? 'Overloaded' : type), { status: fault.status, type })
}

function retryHeaders(fault: Extract<Fault, { kind: 'status' }>): Record<string, string> {
  return {
    ...(fault.retryAfter !== undefined && { 'retry-after': fault.retryAfter }),
    ...(fault.retryAfterMs !== undefined && { 'retry-after-ms': String(fault.retryAfterMs) }),
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
