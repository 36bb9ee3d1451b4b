import { BlockList, isIP } from 'node:net'
import { MatrixError } from '@matrix/protocol'

/** One place on the network, spelled exactly as it has to be asked for. */
export type Destination = { host: string; port: number }

/** One entry of a list of hosts. `any` is every public host. */
export type HostRule = { kind: 'name' | 'below' | 'any'; host: string; ports: readonly number[] }

const nameShape = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/
/** A last label of digits is how an address is hidden: 2130706433, 0x7f.1, 127.1. */
const numberShape = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/
const webPorts = [80, 443] as const

/** Reads `name`, `*.name`, `1.2.3.4`, `[::1]`, each also with `:port`, or `*`. Without a port it means 80 and 443. */
export function parseHostRule(text: string): HostRule {
  const rule = findHostRule(text)
  if (rule) return rule
  throw new MatrixError('SANDBOX_REFUSED', `"${text}" is not a host.`, {
    hint: 'Write it in lower case, such as api.example.com, *.example.com or api.example.com:8443.',
  })
}

/** The same, or nothing if the entry is spelled in any other way. */
export function findHostRule(text: string): HostRule | undefined {
  if (text === '*') return { kind: 'any', host: '', ports: webPorts }
  const isBelow = text.startsWith('*.')
  const [, digits] = /:(\d+)$/.exec(text.replace(/^\[[^\]]*\]/, '')) ?? []
  const named = findDestination(`${isBelow ? text.slice(2) : text}${digits ? '' : ':443'}`)
  if (!named || (isBelow && (isIP(named.host) || !named.host.includes('.')))) return undefined
  return { kind: isBelow ? 'below' : 'name', host: named.host, ports: digits ? [named.port] : webPorts }
}

/** The destination of a request, or nothing if it is spelled in any way but the plain one. */
export function findDestination(text: string): Destination | undefined {
  const [, bracketed, plain, digits = ''] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):([1-9]\d{0,4})$/.exec(text) ?? []
  const port = Number(digits)
  if (port < 1 || port > 65_535) return undefined
  if (bracketed) return isIP(bracketed) === 6 ? { host: bracketed, port } : undefined
  if (!plain) return undefined
  if (isIP(plain) === 4) return { host: plain, port }
  return nameShape.test(plain) && !numberShape.test(plain) ? { host: plain, port } : undefined
}

export function formatDestination({ host, port }: Destination): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}

/** Whether an entry names a destination. `any` names none: where it leads to is for the address to tell. */
export function names({ kind, host, ports }: HostRule, destination: Destination): boolean {
  if (kind === 'any' || !ports.includes(destination.port)) return false
  return kind === 'name' ? destination.host === host : destination.host.endsWith(`.${host}`)
}

/** Whether a destination may be asked for at all; its address is checked apart from this. */
export function isListed(rules: readonly HostRule[], destination: Destination): boolean {
  return rules.some((rule) => names(rule, destination) || (rule.kind === 'any' && isWeb(rule, destination)))
}

/** Whether a list allows already all that another entry would. */
export function isHostCovered(list: readonly string[], entry: string): boolean {
  const wanted = findHostRule(entry)
  if (wanted?.kind !== 'name') return list.includes(entry)
  const rules = list.flatMap((each) => findHostRule(each) ?? [])
  const known = isIP(wanted.host) ? rules.filter(({ kind }) => kind === 'name') : rules
  return wanted.ports.every((port) => isListed(known, { host: wanted.host, port }))
}

function isWeb({ ports }: HostRule, { host, port }: Destination): boolean {
  return ports.includes(port) && (isIP(host) !== 0 || !isInnerName(host))
}

/** Names that only a local network knows. */
function isInnerName(host: string): boolean {
  return !host.includes('.') || /\.(?:localhost|local|internal|intranet|lan|corp|home|arpa)$/.test(host)
}

/** Whether an address is of the public internet: not this machine, not the network around it, not a cloud's metadata. */
export function isPublic(address: string): boolean {
  const family = isIP(address)
  return family !== 0 && !inner.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

// An IPv4 rule also finds the address in its IPv6 dress.
const inner = new BlockList()
for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  inner.addSubnet(address, bits, 'ipv4')
for (const [address, bits] of [
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const)
  inner.addSubnet(address, bits, 'ipv6')
