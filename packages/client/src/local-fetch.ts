import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { ByteReader, Fetch, FetchResponse } from './fetch.ts'

/**
 * A `fetch` over node:http: to a unix socket, which the global one cannot reach, or to wherever the URL says. It also
 * spares a short-lived command the loading of the global one.
 */
export function createLocalFetch({ socket }: { socket?: string } = {}): Fetch {
  return (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const { pathname, search, host, hostname, port } = new URL(url)
      // An address of IPv6 is in brackets in a URL, and nowhere else.
      const place = socket ? { socketPath: socket } : { host: hostname.replace(/^\[|\]$/g, ''), port }
      const path = `${pathname}${search}`
      const options = { ...place, path, method, headers: { host, ...headers }, ...(signal ? { signal } : {}) }
      const outgoing = httpRequest(options, (incoming) => resolve(toResponse(incoming)))
      outgoing.on('error', reject)
      outgoing.end(body)
    })
}

function toResponse(incoming: IncomingMessage): FetchResponse {
  return {
    status: incoming.statusCode ?? 0,
    text: () => readText(incoming),
    body: { getReader: () => readerOf(incoming) },
  }
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

function readerOf(incoming: IncomingMessage): ByteReader {
  const chunks: AsyncIterator<Buffer> = incoming[Symbol.asyncIterator]()
  return {
    read: async () => {
      const { done, value } = await chunks.next()
      return done ? { done: true } : { done: false, value }
    },
    cancel: async () => incoming.destroy(),
  }
}
