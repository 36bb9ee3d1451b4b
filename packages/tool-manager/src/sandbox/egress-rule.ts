import { BlockList, isIP } from 'node:net'
import { MatrixError } from '@matrix/protocol'

/** One place on the network, spelled exactly as it has to be asked for. */
export type Destination = { host: string; port: number }

const nameShape = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/
/** A last label of digits is how an address is hidden: 2130706433, 0x7f.1, 127.1. */
const numberShape = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/

/** Reads `name`, `name:port`, `1.2.3.4:port` or `[::1]:port`; a name without a port means 443. */
export function parseHost(text: string): Destination {
  const destination = findDestination(/:\d+$/.test(text) ? text : `${text}:443`)
  if (destination) return destination
  throw new MatrixError('SANDBOX_REFUSED', `"${text}" is not a host.`, {
    hint: 'Write it in lower case without wildcards, such as api.example.com or api.example.com:8443.',
  })
}

/** The destination of a CONNECT request, or nothing if it is spelled in any way but the plain one. */
export function findDestination(text: string): Destination | undefined {
  const [, bracketed, plain, digits = ''] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):([1-9]\d{0,4})$/.exec(text) ?? []
  const port = Number(digits)
  if (port < 1 || port > 65_535) return undefined
  if (bracketed) return isIP(bracketed) === 6 ? { host: bracketed, port } : undefined
  if (!plain) return undefined
  if (isIP(plain) === 4) return { host: plain, port }
  return nameShape.test(plain) && !numberShape.test(plain) ? { host: plain, port } : undefined
}

export function isSame(a: Destination, b: Destination): boolean {
  return a.host === b.host && a.port === b.port
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
