import { connect, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { type EgressRequest, formatPlain, readHead } from './egress-request.ts'
import { type Destination, formatDestination } from './egress-rule.ts'
import type { UpstreamProxy } from './upstream-proxy.ts'

/** To the address that was checked (asking for the name again could give another one), or through the user's proxy. */
export type Route = { address: string } | { via: UpstreamProxy }

export type DialOptions = { route: Route; rest: Buffer; refuse(reason: string): void }

const CONNECT_TIMEOUT_MS = 30_000
const READ_BYTES = 128 << 10

/** Connects a client to where it asked to go, and carries bytes both ways until both have ended. */
export async function dial(client: Socket, request: EgressRequest, options: DialOptions): Promise<void> {
  const { route, rest, refuse } = options
  const upstream = 'via' in route ? openProxy(route.via) : openHost(route.address, request.destination.port, client)
  client.on('close', () => upstream.destroy())
  try {
    await connected(upstream, 'via' in route && route.via.isSecure)
    if (request.kind === 'plain') upstream.write(plainHead(request, route))
    else {
      if ('via' in route) await openTunnel(upstream, request.destination, route.via)
      client.write(ESTABLISHED)
    }
  } catch (error) {
    upstream.destroy()
    return refuse(explain(route, error as Error))
  }
  upstream.on('error', () => client.destroy())
  // After a proper end, what is still on its way to the client has to arrive.
  upstream.on('close', () => client.writableEnded || client.destroy())
  if (rest.length > 0) upstream.write(rest)
  client.pipe(upstream)
  if ('via' in route) upstream.pipe(client)
  else upstream.on('end', () => client.end())
}

const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n'

/** Large reads into buffers that are used again: a download would otherwise cost twice as much. */
function openHost(host: string, port: number, client: Socket): Socket {
  const free: Buffer[] = []
  let current: Buffer
  const onread: OnReadOpts = {
    buffer() {
      current = free.pop() ?? Buffer.allocUnsafeSlow(READ_BYTES)
      return current
    },
    callback(bytes) {
      const used = current
      if (client.write(used.subarray(0, bytes), () => free.push(used))) return true
      client.once('drain', () => upstream.resume())
      return false
    },
  }
  const upstream = connect({ host, port, allowHalfOpen: true, onread })
  return upstream
}

export function openProxy({ host, port, isSecure }: UpstreamProxy): Socket {
  return isSecure ? connectSecurely({ host, port, servername: host }) : connect({ host, port, allowHalfOpen: true })
}

export function connected(upstream: Socket, isSecure: boolean): Promise<void> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => upstream.destroy(new Error('no answer')), CONNECT_TIMEOUT_MS)
    const settle = (finish: () => void) => {
      clearTimeout(timer)
      upstream.off('error', failed)
      upstream.off('close', closed)
      finish()
    }
    const failed = (error: Error) => settle(() => fail(error))
    const closed = () => settle(() => fail(new Error('the connection was closed')))
    upstream.on('error', failed)
    upstream.on('close', closed)
    upstream.once(isSecure ? 'secureConnect' : 'connect', () => settle(done))
  })
}

/** Asks a proxy for a tunnel. What it sends behind its answer is left to be read. */
export async function openTunnel(upstream: Socket, destination: Destination, proxy: UpstreamProxy): Promise<void> {
  const target = formatDestination(destination)
  upstream.write([`CONNECT ${target} HTTP/1.1`, `Host: ${target}`, ...authorization(proxy), '\r\n'].join('\r\n'))
  const answer = await readHead(upstream, CONNECT_TIMEOUT_MS)
  const [, status, words = ''] = /^HTTP\/1\.\d (\d{3}) ?(.*)$/.exec(answer?.line ?? '') ?? []
  if (status !== '200')
    throw new Error(status ? `it answered ${status} ${words}`.trim() : 'it did not answer as a proxy')
  if (answer && answer.rest.length > 0) upstream.unshift(answer.rest)
}

function plainHead(request: Extract<EgressRequest, { kind: 'plain' }>, route: Route): string {
  if ('via' in route) return formatPlain(request, { origin: false, extra: authorization(route.via) })
  return formatPlain(request, { origin: true })
}

function authorization({ authorization: value }: UpstreamProxy): string[] {
  return value ? [`Proxy-Authorization: ${value}`] : []
}

function explain(route: Route, { message, code }: Error & { code?: string }): string {
  if ('via' in route)
    return `The proxy of this machine, ${route.via.name}, did not open the connection: ${code ?? message}.`
  return 'The host cannot be reached.'
}
