import { lookup } from 'node:dns/promises'
import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { type Destination, formatDestination } from './sandbox/egress-rule.ts'

/** What npm is told about registries, and no more of the user's settings. */
export type NpmSettings = {
  /** As `npm_config_…`, which counts more than any file. */
  env: Record<string, string>
  /** The only places that npm may reach. */
  destinations: Destination[]
  /** Certificates that the settings name. */
  paths: string[]
}

type Environment = Readonly<Record<string, string | undefined>>

const REGISTRY = 'https://registry.npmjs.org/'
const MAX_BYTES = 1 << 20
/** Which registry, for which scope, with which credential and certificate. Nothing that names a program or a script. */
const wanted =
  /^(?:(?:@[\w.~-]+:)?registry|\/\/[^\s=]+:(?:_authToken|_auth|username|_password|email|certfile|keyfile)|ca|cafile|cert|key|strict-ssl|always-auth|fetch-(?:retries|timeout|retry-[a-z]+))$/
const pathSettings = /(?:^cafile$|:certfile$|:keyfile$)/
/** Registries that answer with the address of a file elsewhere. */
const downloads: Readonly<Record<string, string>> = { 'npm.pkg.github.com': 'pkg-npm.githubusercontent.com' }

/** Reads the user's own npm settings, never those of a folder that npm works in. */
export function readNpmSettings(env: Environment = process.env, home: string = homedir()): NpmSettings {
  const prefix = env.PREFIX ?? dirname(dirname(process.execPath))
  const named = fromEnvironment(env)
  const files = [
    named.globalconfig ?? (prefix === '/usr' ? '/usr/etc/npmrc' : join(prefix, 'etc/npmrc')),
    named.userconfig ?? join(home, '.npmrc'),
  ]
  const found = { ...Object.assign({}, ...files.map((file) => parse(read(file), env))), ...named }
  const kept = Object.fromEntries(Object.entries<string>(found).filter(([key]) => wanted.test(key)))
  const settings = { registry: REGISTRY, ...kept }
  const entries = Object.entries(settings)
  return {
    env: Object.fromEntries(entries.map(([key, value]) => [`npm_config_${key}`, value])),
    destinations: entries.filter(([key]) => /(?:^|:)registry$/.test(key)).flatMap(([, value]) => destinationsOf(value)),
    paths: entries.filter(([key, value]) => pathSettings.test(key) && isAbsolute(value)).map(([, value]) => value),
  }
}

/**
 * The list for a proxy. A registry of the user may be on an inner network: the proxy refuses such addresses unless they
 * are listed themselves.
 */
export async function listRegistryHosts(destinations: readonly Destination[]): Promise<string[]> {
  const addresses = await Promise.all(
    destinations.map(async ({ host, port }) => {
      const found = isIP(host) ? [] : await lookup(host, { all: true }).catch(() => [])
      return found.map(({ address }) => ({ host: address, port }))
    }),
  )
  return [...destinations, ...addresses.flat()].map(formatDestination)
}

function destinationsOf(registry: string): Destination[] {
  if (!URL.canParse(registry)) return []
  const { protocol, hostname, port } = new URL(registry)
  if (!/^https?:$/.test(protocol)) return []
  const host = hostname.replace(/^\[|\]$/g, '')
  const number = Number(port) || (protocol === 'https:' ? 443 : 80)
  const elsewhere = Object.hasOwn(downloads, host) ? downloads[host] : undefined
  return [{ host, port: number }, ...(elsewhere ? [{ host: elsewhere, port: 443 }] : [])]
}

/** `npm_config_fetch_retries` is `fetch-retries`; a name that begins with an address or a scope stays as it is. */
function fromEnvironment(env: Environment): Record<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]) => {
    const [, key] = /^npm_config_(.+)$/i.exec(name) ?? []
    if (!key || value === undefined || value === '') return []
    return [[/^[/@]/.test(key) ? key : key.toLowerCase().replace(/(?!^)_/g, '-'), value]]
  })
  return Object.fromEntries(entries)
}

function parse(text: string, env: Environment): Record<string, string> {
  const lines = text.split(/\r?\n/).map((line) => /^\s*([^#;[=\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line))
  const entries = lines.flatMap((line) => {
    const [, key = '', value = ''] = line ?? []
    return line ? [[key, expand(value.replace(/^(["'])(.*)\1$/, '$2'), env)]] : []
  })
  return Object.fromEntries(entries)
}

function expand(value: string, env: Environment): string {
  return value.replace(/\$\{([^}?]+)(\??)\}/g, (whole, name: string, optional: string) => {
    return env[name] ?? (optional ? '' : whole)
  })
}

function read(file: string): string {
  try {
    // A pipe in its place would never end.
    const found = statSync(file)
    return found.isFile() && found.size <= MAX_BYTES ? readFileSync(file, 'utf8') : ''
  } catch {
    return ''
  }
}
