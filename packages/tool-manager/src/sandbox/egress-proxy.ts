import { lookup } from 'node:dns/promises'
import { chmodSync, lchownSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, isIP, type Server, type Socket } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { dial, type Route } from './egress-dial.ts'
import { type EgressRequest, parseRequest, readHead } from './egress-request.ts'
import {
  type Destination,
  formatDestination,
  type HostRule,
  isListed,
  isPublic,
  names,
  parseHostRule,
} from './egress-rule.ts'
import type { Identity } from './identity.ts'
import { INSIDE_REQUEST, type InsideLines, openInsideLines } from './inside-line.ts'
import { findUpstream, type UpstreamProxy } from './upstream-proxy.ts'

/** What the proxy decided about one request; `asked` is from the box and may hold anything printable. */
export type EgressDecision = {
  asked: string
  allowed: boolean
  reason: string
  /** What would have to be listed, if that is all that was missing. */
  missing?: string
  /** What was reached, if it was allowed. */
  reached?: string
}

export type EgressProxy = {
  socket: string
  /** Connects to a port of the box. */
  connectInside: InsideLines['connect']
  close(): Promise<void>
}

/** What can be reached; a function is asked anew for every connection. */
export type HostList = readonly string[] | (() => Promise<readonly string[]>)

export type EgressOptions = {
  hosts: HostList
  /** Whom the box runs as, if that is another user. */
  identity?: Identity | undefined
  onDecision?: ((decision: EgressDecision) => void) | undefined
  /** The addresses of a name. */
  resolve?: ((host: string) => Promise<string[]>) | undefined
  /** The user's own proxy for a destination; by default that of the environment. */
  upstream?: ((destination: Destination, isSecure: boolean) => UpstreamProxy | undefined) | undefined
  /** How long the first lines of a request may take. */
  headTimeoutMs?: number | undefined
}

const HEAD_TIMEOUT_MS = 10_000
const MAX_CONNECTIONS = 512

/** One door to the network for one agent: an HTTP proxy on a unix socket that only its own box is given. */
export async function openEgress(options: EgressOptions): Promise<EgressProxy> {
  const rules = openRules(options.hosts)
  const folder = mkdtempSync(join(tmpdir(), 'matrix-egress-'))
  const socket = join(folder, 'egress.sock')
  const open = new Set<Socket>()
  const lines = openInsideLines()

  // A client that has sent all may still be reading.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    open.add(client)
    client.on('close', () => open.delete(client))
    void serve(client, { ...options, rules, lines })
  })
  server.maxConnections = MAX_CONNECTIONS
  await listen(server, socket)
  if (options.identity) lchownSync(socket, options.identity.uid, options.identity.gid)
  chmodSync(socket, 0o600)

  return {
    socket,
    connectInside: lines.connect,
    async close() {
      for (const client of open) client.destroy()
      await new Promise((done) => server.close(done))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A list that cannot be read allows nothing. */
function openRules(hosts: HostList): () => Promise<readonly HostRule[]> {
  if (typeof hosts !== 'function') {
    const fixed = hosts.map(parseHostRule)
    return async () => fixed
  }
  return async () => (await hosts().catch(() => [])).map(parseHostRule)
}

type Serving = EgressOptions & { rules(): Promise<readonly HostRule[]>; lines: InsideLines }

async function serve(client: Socket, options: Serving): Promise<void> {
  client.on('error', () => client.destroy())
  const head = await readHead(client, options.headTimeoutMs ?? HEAD_TIMEOUT_MS)
  if (head === undefined) return void client.destroy()
  if (head.line === INSIDE_REQUEST) return options.lines.offer(client)

  const request = parseRequest(head)
  const verdict =
    'problem' in request
      ? denied(request.status, request.problem)
      : await judge(request, await options.rules(), options)
  const { allowed, reason } = verdict
  const missing = 'missing' in verdict && verdict.missing ? { missing: verdict.missing } : {}
  const reached = allowed && !('problem' in request) ? { reached: formatDestination(request.destination) } : {}
  options.onDecision?.({ asked: head.line.slice(0, 300), allowed, reason, ...missing, ...reached })
  if (!verdict.allowed || 'problem' in request)
    return refuse(client, 'status' in verdict ? verdict.status : 400, reason)
  await dial(client, request, { route: verdict.route, rest: head.rest, refuse: (why) => refuse(client, 502, why) })
}

type Verdict =
  | { allowed: true; reason: string; route: Route }
  | { allowed: false; reason: string; status: number; missing?: string }

async function judge(
  { kind, destination }: EgressRequest,
  rules: readonly HostRule[],
  options: EgressOptions,
): Promise<Verdict> {
  const { resolve = resolveHost, upstream = findUpstream } = options
  const { host, port } = destination
  const spelled = formatDestination(destination)
  if (!isListed(rules, destination))
    return { ...denied(403, `${spelled} is not in the list of hosts.`), missing: spelled }

  const proxy = upstream(destination, kind === 'tunnel')
  const found = isIP(host) ? [host] : await resolve(host).catch(() => [])
  // An inner address is reached only where it was listed as such, for it is never what a public name should mean.
  const isNamed = (address: string) => rules.some((rule) => names(rule, { host: address, port }))
  const address = found.find((each) => isNamed(each) || isOutside(each))
  if (found[0] !== undefined && address === undefined) {
    const inner = formatDestination({ host: found[0], port })
    return { ...denied(403, `${spelled} leads to an inner address, which has to be listed itself.`), missing: inner }
  }
  // Behind a proxy of the user, names may be for that proxy alone to resolve.
  if (proxy) return { allowed: true, reason: 'The destination is in the list.', route: { via: proxy } }
  if (address === undefined) return denied(502, `${host} has no address.`)
  return { allowed: true, reason: 'The destination is in the list.', route: { address } }
}

function isOutside(address: string): boolean {
  return isPublic(address) && !ownAddresses().has(address)
}

function denied(status: number, reason: string): Extract<Verdict, { allowed: false }> {
  return { allowed: false, status, reason }
}

function refuse(client: Socket, status: number, reason: string): void {
  client.end(
    `HTTP/1.1 ${status} Refused by the sandbox\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(reason) + 1}\r\n\r\n${reason}\n`,
  )
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
