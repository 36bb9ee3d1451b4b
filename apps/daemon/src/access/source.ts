import { isIPv6 } from 'node:net'

/** Whom a limit counts: an IPv4 address, or the /64 that one IPv6 subscriber has. */
export function sourceOf(address: string | undefined): string {
  if (address === undefined) return 'local'
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  return isIPv6(address) ? prefixOf(address) : address
}

function prefixOf(address: string): string {
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0')
  const groups = tail === undefined ? left : [...left, ...zeros, ...right]
  return `${groups
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}
