import { isIP } from 'node:net'
import { type Destination, formatDestination } from './egress-rule.ts'

/** The user's own way out, with the header that it asks for. The credential is in the header alone, never in `name`. */
export type UpstreamProxy = { name: string; host: string; port: number; isSecure: boolean; authorization?: string }

type Environment = Readonly<Record<string, string | undefined>>

/** The proxy that the environment names for a destination, as curl and Go read it. */
export function findUpstream(
  destination: Destination,
  isSecure: boolean,
  env: Environment = process.env,
): UpstreamProxy | undefined {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || undefined
  const given = (isSecure ? read('HTTPS_PROXY') : read('HTTP_PROXY')) ?? read('ALL_PROXY')
  if (!given || isExempt(destination, read('NO_PROXY') ?? '')) return undefined
  return parseProxy(given)
}

/** Reads `http://user:password@host:port`; the scheme can be left out. */
export function parseProxy(text: string): UpstreamProxy | undefined {
  const url = parseUrl(text.includes('://') ? text : `http://${text}`)
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined
  const isSecure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port) || (isSecure ? 443 : 80)
  const user = `${decode(url.username)}:${decode(url.password)}`
  return {
    name: formatDestination({ host, port }),
    host,
    port,
    isSecure,
    ...(user !== ':' && { authorization: `Basic ${Buffer.from(user).toString('base64')}` }),
  }
}

/** Entries are hosts, domains with or without a leading dot or `*.`, each also with a port, or `*`. */
function isExempt({ host, port }: Destination, list: string): boolean {
  const isLoopback = host === 'localhost' || host === '::1' || host.startsWith('127.')
  return (
    isLoopback ||
    list
      .split(/[\s,]+/)
      .filter((entry) => entry !== '')
      .some((entry) => {
        if (entry === '*') return true
        const [, name = '', digits] =
          /^\[?(.*?)\]?(?::(\d+))?$/.exec(isIP(entry) ? `[${entry}]` : entry.toLowerCase()) ?? []
        if (digits && Number(digits) !== port) return false
        const bare = name.replace(/^\*?\./, '')
        return host === bare || (isIP(host) === 0 && host.endsWith(`.${bare}`))
      })
  )
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
