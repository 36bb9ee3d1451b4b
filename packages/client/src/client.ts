import type { Operation, RouteInput, RouteOutput, Routes } from '@matrix/protocol/http'
import { type EventStream, type EventStreamOptions, openEventStream } from './event-stream.ts'
import { readFailure, unreachable } from './failure.ts'
import type { Fetch, FetchRequest, FetchResponse } from './fetch.ts'
import { places } from './places.ts'
import { buildTarget } from './url.ts'

export type ClientOptions = {
  /** Where the daemon is, such as `http://127.0.0.1:7433`; an empty string means the page's own origin. */
  baseUrl: string
  fetch?: Fetch
  /** The daemon's own token, for programs of the same user. */
  token?: string
  /** What signing in gave a browser, to be sent beside the cookie. A function when it changes. */
  csrfToken?: string | (() => string | undefined)
  /** The contract to hold every answer against. For tests: a browser would have to load it. */
  contract?: Routes
}

type CallOptions = { signal?: AbortSignal }

type CallArguments<Op extends Operation> =
  Record<never, never> extends RouteInput<Routes[Op]>
    ? [input?: RouteInput<Routes[Op]>, options?: CallOptions]
    : [input: RouteInput<Routes[Op]>, options?: CallOptions]

type Calls = { [Op in Operation]: (...args: CallArguments<Op>) => Promise<RouteOutput<Routes[Op]>> }

/** One method for each operation of the daemon. Whatever fails comes as a `MatrixError` with code, message and hint. */
export type Client = Calls & {
  /** Everything that happens from now on, or from where an earlier reader stopped. Survives lost connections. */
  events(options?: EventStreamOptions): EventStream
}

export function createClient(options: ClientOptions): Client {
  const { baseUrl, contract } = options
  const request = openRequests(options)

  const call = async (operation: Operation, input: Record<string, unknown> = {}, { signal }: CallOptions = {}) => {
    const { method, path, body } = buildTarget(operation, input)
    const response = await request(path, {
      method,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    })
    const answer = await readAnswer(response, baseUrl)
    return contract ? contract[operation].response.parse(answer) : answer
  }

  const calls = Object.keys(places).map((operation) => [operation, call.bind(undefined, operation as Operation)])
  return {
    ...(Object.fromEntries(calls) as Calls),
    events: (streamOptions = {}) => openEventStream(request, streamOptions),
  }
}

/** Sends a request with everything that proves who is asking. Answers that are failures are thrown. */
export type Request = (path: string, request: FetchRequest) => Promise<FetchResponse>

function openRequests({
  baseUrl,
  fetch = globalThis.fetch.bind(globalThis),
  token,
  csrfToken,
}: ClientOptions): Request {
  const proofs = () => {
    const csrf = typeof csrfToken === 'function' ? csrfToken() : csrfToken
    return { ...(token ? { authorization: `Bearer ${token}` } : {}), ...(csrf ? { 'x-matrix-csrf': csrf } : {}) }
  }

  return async (path, request) => {
    const headers = { accept: 'application/json', ...request.headers, ...proofs() }
    const response = await fetch(`${baseUrl}${path}`, { ...request, headers }).catch((error: unknown) => {
      throw request.signal?.aborted ? error : unreachable(baseUrl, error)
    })
    if (response.status >= 200 && response.status < 300) return response
    throw await readFailure(response, baseUrl)
  }
}

async function readAnswer(response: FetchResponse, baseUrl: string): Promise<unknown> {
  const text = await response.text().catch((error: unknown) => {
    throw unreachable(baseUrl, error)
  })
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch (error) {
    throw unreachable(baseUrl, error)
  }
}
