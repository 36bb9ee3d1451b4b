import type { Socket } from 'node:net'
import { type Destination, findDestination } from './egress-rule.ts'

/** What a program in a box asks of the proxy: a tunnel, or one plain HTTP request. */
export type EgressRequest =
  | { kind: 'tunnel'; destination: Destination }
  | { kind: 'plain'; destination: Destination; method: string; path: string; version: string; headers: string[] }

export type EgressHead = { line: string; headers: string[]; rest: Buffer }

const MAX_HEAD = 8192
/** Those of one connection, which the next one must not hear. */
const ownHeaders = /^(?:host|connection|proxy-[a-z-]+|keep-alive)\s*:/i

/** The first lines of a request; nothing if they are too long, too slow or never end. */
export function readHead(client: Socket, timeoutMs: number): Promise<EgressHead | undefined> {
  return new Promise((done) => {
    let bytes = Buffer.alloc(0)
    const finish = (head?: EgressHead) => {
      clearTimeout(timer)
      client.off('data', read)
      client.off('close', giveUp)
      client.pause()
      done(head)
    }
    const giveUp = () => finish()
    const read = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      const end = bytes.indexOf('\r\n\r\n')
      if (end < 0) {
        if (bytes.length > MAX_HEAD) finish()
        return
      }
      const [line = '', ...headers] = bytes.subarray(0, end).toString('latin1').split('\r\n')
      finish({ line, headers, rest: bytes.subarray(end + 4) })
    }
    const timer = setTimeout(giveUp, timeoutMs)
    client.on('data', read)
    client.on('close', giveUp)
  })
}

/** The request, or why it is none. Whatever is spelled in an unusual way is refused, not understood. */
export function parseRequest({ line, headers }: EgressHead): EgressRequest | { status: number; problem: string } {
  const [method = '', target = '', version = '', ...more] = line.split(' ')
  const isPlainText = /^[\x21-\x7e ]+$/.test(line) && more.length === 0 && /^HTTP\/1\.[01]$/.test(version)
  if (!isPlainText) return { status: 400, problem: 'The request is malformed.' }
  if (method === 'CONNECT') {
    const destination = findDestination(target)
    return destination ? { kind: 'tunnel', destination } : misspelled
  }
  const [, authority, path] = /^http:\/\/([^/?#]+)(\/[^#]*|\?[^#]*|)$/.exec(target) ?? []
  if (!/^[A-Z]+$/.test(method) || authority === undefined || path === undefined)
    return { status: 405, problem: 'This is a proxy: only CONNECT and http:// addresses pass it.' }
  const destination = findDestination(/:\d+$/.test(authority) ? authority : `${authority}:80`)
  if (!destination) return misspelled
  // A header over several lines could hide one that is left out below.
  if (headers.some((header) => !/^[!#$%&'*+.^_`|~\w-]+:[^\0\r\n]*$/.test(header)))
    return { status: 400, problem: 'A header of the request is malformed.' }
  return { kind: 'plain', destination, method, path: path.startsWith('/') ? path : `/${path}`, version, headers }
}

/** The head as the host itself is asked: one request, after which the connection ends. */
export function formatPlain(
  { destination, method, path, version, headers }: Extract<EgressRequest, { kind: 'plain' }>,
  { origin, extra = [] }: { origin: boolean; extra?: readonly string[] },
): string {
  const { host, port } = destination
  const name = host.includes(':') ? `[${host}]` : host
  const authority = port === 80 ? name : `${name}:${port}`
  return [
    `${method} ${origin ? path : `http://${authority}${path}`} ${version}`,
    `Host: ${authority}`,
    ...headers.filter((header) => !ownHeaders.test(header)),
    ...extra,
    'Connection: close',
    '\r\n',
  ].join('\r\n')
}

const misspelled = { status: 400, problem: 'The destination is not spelled as host:port.' }
