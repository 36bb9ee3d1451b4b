import { lookup } from 'node:dns/promises'
import { chmodSync, lchownSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, isIP, type Server, type Socket } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Destination, findDestination, isPublic, isSame, parseHost } from './egress-rule.ts'
import type { Identity } from './identity.ts'

/** What the proxy decided about one request; `asked` is from the box and may hold anything printable. */
export type EgressDecision = { asked: string; allowed: boolean; reason: string }

export type EgressProxy = { socket: string; close(): Promise<void> }

export type EgressOptions = {
  hosts: readonly string[]
  /** Whom the box runs as, if that is somebody else. */
  identity?: Identity | undefined
  onDecision?: ((decision: EgressDecision) => void) | undefined
  /** The addresses of a name. */
  resolve?: ((host: string) => Promise<string[]>) | undefined
  /** How long the first lines of a request may take. */
  headTimeoutMs?: number | undefined
}

const MAX_HEAD = 8192
const HEAD_TIMEOUT_MS = 10_000
const MAX_CONNECTIONS = 128

/** One door to the network for one agent: a CONNECT proxy on a unix socket that only its own box is given. */
export async function openEgress(options: EgressOptions): Promise<EgressProxy> {
  const allowed = options.hosts.map(parseHost)
  const folder = mkdtempSync(join(tmpdir(), 'matrix-egress-'))
  const socket = join(folder, 'egress.sock')
  const open = new Set<Socket>()

  // Who has said all may still be listening.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    open.add(client)
    client.on('close', () => open.delete(client))
    void serve(client, allowed, options)
  })
  server.maxConnections = MAX_CONNECTIONS
  await listen(server, socket)
  if (options.identity) lchownSync(socket, options.identity.uid, options.identity.gid)
  chmodSync(socket, 0o600)

  return {
    socket,
    async close() {
      for (const client of open) client.destroy()
      await new Promise((done) => server.close(done))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function serve(client: Socket, allowed: readonly Destination[], options: EgressOptions): Promise<void> {
  client.on('error', () => client.destroy())
  const head = await readHead(client, options.headTimeoutMs ?? HEAD_TIMEOUT_MS)
  if (head === undefined) return void client.destroy()

  const [line = ''] = head.text.split('\r\n')
  const verdict = await judge(line, allowed, options.resolve ?? resolveHost)
  options.onDecision?.({ asked: line.slice(0, 300), allowed: verdict.allowed, reason: verdict.reason })
  if (!verdict.allowed) return refuse(client, verdict.status, verdict.reason)

  // To the address that was checked: asking for the name again could give another one.
  const upstream = connect({ host: verdict.address, port: verdict.port, allowHalfOpen: true })
  upstream.on('error', () =>
    upstream.connecting ? refuse(client, 502, 'The host cannot be reached.') : client.destroy(),
  )
  client.on('close', () => upstream.destroy())
  // After a proper end, what is still on its way to the client has to arrive.
  upstream.on('close', () => client.writableEnded || client.destroy())
  upstream.once('connect', () => {
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    if (head.rest.length > 0) upstream.write(head.rest)
    client.pipe(upstream)
    upstream.pipe(client)
  })
}

type Verdict =
  | { allowed: true; reason: string; address: string; port: number }
  | { allowed: false; reason: string; status: number }

async function judge(
  line: string,
  allowed: readonly Destination[],
  resolve: (host: string) => Promise<string[]>,
): Promise<Verdict> {
  const [method, target = '', version, ...more] = line.split(' ')
  const isPlain = /^[\x21-\x7e ]+$/.test(line) && more.length === 0 && /^HTTP\/1\.[01]$/.test(version ?? '')
  if (!isPlain) return denied(400, 'The request is malformed.')
  if (method !== 'CONNECT') return denied(405, 'Only CONNECT goes through this proxy.')
  const destination = findDestination(target)
  if (!destination) return denied(400, 'The destination is not spelled as host:port.')
  if (!allowed.some((host) => isSame(host, destination))) return denied(403, 'The destination is not in the list.')

  const addresses = isIP(destination.host) ? [destination.host] : await resolve(destination.host).catch(() => [])
  if (addresses.length === 0) return denied(502, 'The name has no address.')
  // An inner address is reached only where it was listed as such, for it is never what a public name should mean.
  const isListed = (address: string) => allowed.some((host) => isSame(host, { ...destination, host: address }))
  const isOutside = (address: string) => isPublic(address) && !ownAddresses().has(address)
  const address = addresses.find((found) => isListed(found) || isOutside(found))
  if (!address) return denied(403, 'The name leads to an inner address.')
  return { allowed: true, reason: 'The destination is in the list.', address, port: destination.port }
}

function denied(status: number, reason: string): Verdict {
  return { allowed: false, status, reason }
}

function refuse(client: Socket, status: number, reason: string): void {
  client.end(
    `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: ${reason.length + 1}\r\n\r\n${reason}\n`,
  )
}

function readHead(client: Socket, timeoutMs: number): Promise<{ text: string; rest: Buffer } | undefined> {
  return new Promise((done) => {
    let bytes = Buffer.alloc(0)
    const finish = (head?: { text: string; rest: Buffer }) => {
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
      if (end >= 0) finish({ text: bytes.subarray(0, end).toString('latin1'), rest: bytes.subarray(end + 4) })
      else if (bytes.length > MAX_HEAD) finish()
    }
    const timer = setTimeout(giveUp, timeoutMs)
    client.on('data', read)
    client.on('close', giveUp)
  })
}

async function resolveHost(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

function ownAddresses(): Set<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address)))
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((done, fail) => {
    server.once('error', fail)
    server.listen(path, done)
  })
}
