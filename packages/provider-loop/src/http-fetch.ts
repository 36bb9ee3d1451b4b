import * as http from 'node:http'
import * as https from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { urlToHttpOptions } from 'node:url'
import { ownIteration } from './event-loop.ts'

/** Opens a connection, ready to be written to. */
export type Dial = (target: { host: string; port: number; isSecure: boolean }) => Promise<Socket>

export type HttpFetchOptions = {
  idleTimeoutMs?: number | undefined
  /** Another way out than a direct connection, such as a proxy. */
  dial?: Dial | undefined
}

export type HttpFetch = {
  /** What the official SDKs accept as their `fetch`; it knows exactly what they use of it. */
  fetch: typeof globalThis.fetch
  /** Ends idle connections. */
  close(): void
}

/** The body of an answer: hands over what arrives, as it arrives; a `take` that throws ends the connection. */
export type AnswerBody = {
  read(take: (chunk: Buffer) => void): Promise<void>
  [Symbol.asyncIterator](): { return(): Promise<void> }
}

type Place = { host: string; request: typeof http.request; options: http.RequestOptions }

/**
 * A fetch over node:http with connections that stay open. The global one spends more on a request than everything
 * else in a turn together.
 */
export function createHttpFetch({ idleTimeoutMs = 300_000, dial }: HttpFetchOptions = {}): HttpFetch {
  const agents = {
    'http:': new http.Agent({ keepAlive: true, scheduling: 'lifo' }),
    'https:': new https.Agent({ keepAlive: true, scheduling: 'lifo' }),
  }

  if (dial) {
    dialBy(agents['http:'], dial, false)
    dialBy(agents['https:'], dial, true)
  }

  // Agents ask at the same few places again and again.
  const places = new Map<string, Place>()
  function openPlace(address: string): Place {
    const url = new URL(address)
    const secure = url.protocol === 'https:'
    const options = { ...urlToHttpOptions(url), agent: agents[secure ? 'https:' : 'http:'] }
    const place = { host: url.host, request: secure ? https.request : http.request, options }
    places.set(address, place)
    return place
  }

  function send(url: string, init: RequestInit): Promise<Response> {
    const place = places.get(url) ?? openPlace(url)
    const body = toChunks(init.body)
    const length = body.reduce((sum, chunk) => sum + chunk.length, 0)
    const headers = init.headers instanceof Headers ? init.headers : new Headers(init.headers)
    return new Promise((resolve, reject) => {
      const request = place.request({
        ...place.options,
        method: init.method ?? 'GET',
        headers: [...headers, ['host', place.host], ['content-length', `${length}`]].flat(),
        timeout: idleTimeoutMs,
      })
      let reason: Error | undefined
      // The socket is not told why: it may have been given back already, and then nobody would hear its error.
      const end = (why: Error) => {
        reason = why
        request.destroy()
      }
      const abort = () => end(new DOMException('This operation was aborted', 'AbortError'))
      const release = () => init.signal?.removeEventListener('abort', abort)
      init.signal?.addEventListener('abort', abort)
      request.on('close', release)
      request.on('timeout', () => end(new Error(`no byte for ${idleTimeoutMs / 1000} s`)))
      request.on('response', (message) => {
        const response = toResponse(message, url, () => reason)
        void ownIteration().then(() => resolve(response))
      })
      request.on('error', (error) => {
        // The other side closed an idle connection just as it was used again; nothing was received.
        const stale = request.reusedSocket && 'code' in error && error.code === 'ECONNRESET' && !reason
        if (stale) send(url, init).then(resolve, reject)
        else reject(reason ?? error)
      })
      if (init.signal?.aborted) abort()
      request.cork()
      for (const chunk of body) request.write(chunk)
      request.end()
    })
  }

  return {
    fetch: async (input, init = {}) => {
      await ownIteration()
      return send(input instanceof Request ? input.url : String(input), init)
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

function dialBy(agent: http.Agent, dial: Dial, isSecure: boolean): void {
  agent.createConnection = ({ host, port }, done: (error: Error | null, socket?: Duplex) => void) => {
    dial({ host: host ?? 'localhost', port: Number(port), isSecure }).then((socket) => {
      done(null, socket)
      // One that has been read from, as for the answer of a proxy, was paused then.
      socket.resume()
    }, done)
    return undefined
  }
}

/** Adapters give the pieces of a body as a list, which no other fetch would accept. */
function toChunks(body: RequestInit['body'] | Uint8Array[]): Uint8Array[] {
  if (body === null || body === undefined) return []
  if (Array.isArray(body)) return body
  if (typeof body === 'string') return [Buffer.from(body)]
  if (ArrayBuffer.isView(body)) return [new Uint8Array(body.buffer, body.byteOffset, body.byteLength)]
  throw new TypeError('A request body is text or bytes')
}

/** The part of a Response that the SDKs read. */
function toResponse(message: http.IncomingMessage, url: string, givenUp: () => Error | undefined): Response {
  const status = message.statusCode ?? 0
  const body = bodyOf(message, givenUp)
  const text = async () => {
    const chunks: Buffer[] = []
    await body.read((chunk) => chunks.push(chunk))
    return Buffer.concat(chunks).toString('utf8')
  }
  const response = {
    ok: status >= 200 && status < 300,
    status,
    statusText: message.statusMessage ?? '',
    headers: new Headers(headerPairs(message)),
    url,
    body,
    text,
    json: async () => JSON.parse(await text()),
  }
  return response as unknown as Response
}

function headerPairs(message: http.IncomingMessage): [string, string][] {
  return Object.entries(message.headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  )
}

const cutText = 'The connection ended in the middle of the answer'

/** Node only says "aborted". */
function isCut(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET'
}

function bodyOf(message: http.IncomingMessage, givenUp: () => Error | undefined): AnswerBody {
  // Heard from the start: what goes wrong before anybody reads must be known to who does.
  const over = new Promise<void>((resolve, reject) => {
    message.on('error', (error) => reject(isCut(error) ? new Error(cutText) : error))
    message.on('end', () => {
      // A request that was given up drops what it holds of its answer, and then says that it has ended.
      const reason = givenUp()
      if (reason) reject(reason)
      else resolve()
    })
    message.on('close', () => {
      if (!message.readableEnded) reject(new Error(cutText))
    })
  })
  over.catch(() => undefined)

  return {
    // The way in which the SDKs leave an answer that they do not want.
    [Symbol.asyncIterator]: () => ({
      async return() {
        message.destroy()
      },
    }),
    read(take) {
      message.on('data', (chunk: Buffer) => {
        try {
          take(chunk)
        } catch (error) {
          message.destroy(error as Error)
        }
      })
      return over
    },
  }
}
