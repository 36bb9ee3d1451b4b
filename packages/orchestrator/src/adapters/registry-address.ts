import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where the user's package managers fetch from instead of the public registries: addresses alone, never a credential. */
export type RegistryAddresses = {
  /** By the variable that names it to a program in the sandbox. */
  env: Record<string, string>
  /** The addresses of each ecosystem. */
  npm: string[]
  python: string[]
  go: string[]
  cargo: string[]
  maven: string[]
}

export type UserPlace = { env: Readonly<Record<string, string | undefined>>; home: string }

const MAX_BYTES = 256 << 10

/** Read from the environment first, then from the files of the user and of the machine, as the programs themselves do. */
export function findRegistryAddresses(
  { env, home }: UserPlace = { env: process.env, home: homedir() },
): RegistryAddresses {
  const read = (...names: string[]) =>
    names.map((name) => env[name]).find((value) => value !== undefined && value !== '')
  const npmrc = readText(join(home, '.npmrc'))
  const pip = ['.config/pip/pip.conf', '.pip/pip.conf'].map((file) => readText(join(home, file))).join('\n')
  const cargo = ['.cargo/config.toml', '.cargo/config'].map((file) => readText(join(home, file))).join('\n')
  const npm = withoutCredential(read('npm_config_registry', 'NPM_CONFIG_REGISTRY') ?? value(npmrc, 'registry'))
  const index = withoutCredential(read('PIP_INDEX_URL') ?? value(pip, 'index-url'))
  const extra = list(read('PIP_EXTRA_INDEX_URL') ?? value(pip, 'extra-index-url'))
  const go = list(read('GOPROXY'), /[,|]/)
  return {
    env: withoutUndefined({
      npm_config_registry: npm,
      YARN_NPM_REGISTRY_SERVER: npm,
      PIP_INDEX_URL: index,
      PIP_EXTRA_INDEX_URL: extra.join(' ') || undefined,
      UV_INDEX_URL: withoutCredential(read('UV_INDEX_URL')),
      UV_DEFAULT_INDEX: withoutCredential(read('UV_DEFAULT_INDEX')),
      GOPROXY: goProxy(read('GOPROXY')),
      GOSUMDB: read('GOSUMDB'),
      GONOSUMDB: read('GONOSUMDB'),
      GOPRIVATE: read('GOPRIVATE'),
      ...cargoIndexes(env),
    }),
    npm: [npm, ...all(npmrc, /^@[^:\s]+:registry\s*=\s*(\S+)/gm)].flatMap(web),
    python: [index, ...extra, read('UV_INDEX_URL'), read('UV_DEFAULT_INDEX')].flatMap(web),
    go: go.flatMap(web),
    cargo: [
      ...Object.values(cargoIndexes(env)),
      ...all(cargo, /^[ \t]*(?:registry|index)\s*=\s*"([^"\s]+)"/gm),
    ].flatMap(web),
    maven: all(readText(join(home, '.m2/settings.xml')), /<url>\s*([^<\s]+)\s*<\/url>/g).flatMap(web),
  }
}

/** The hosts of all of them, as lists of hosts spell them. */
export function registryHosts({ env: _, ...addresses }: RegistryAddresses): string[] {
  return Object.values(addresses)
    .flat()
    .flatMap((address) => parse(address)?.host ?? [])
}

/** An address as it may be passed on, if it is one of the web. */
function withoutCredential(text: string | undefined): string | undefined {
  const url = parse(text?.trim().replace(/^["']|["']$/g, '') ?? '')
  if (!url || !/^https?:$/.test(url.protocol)) return undefined
  url.username = ''
  url.password = ''
  url.search = ''
  return url.href
}

function web(text: string | undefined): string[] {
  const address = withoutCredential(text?.replace(/^(?:sparse|registry|git)\+/, ''))
  return address ? [address] : []
}

/** Beside addresses it may hold `direct` and `off`. */
function goProxy(text: string | undefined): string | undefined {
  const parts = text
    ?.split(/([,|])/)
    .map((part) => (/^(?:[,|]|direct|off)$/.test(part) ? part : withoutCredential(part)))
  return parts?.some((part) => part === undefined) ? undefined : parts?.join('')
}

function cargoIndexes(env: UserPlace['env']): Record<string, string> {
  const entries = Object.entries(env).filter(([name]) => /^CARGO_REGISTRIES_[A-Z0-9_]+_INDEX$/.test(name))
  return Object.fromEntries(
    entries.flatMap(([name, text]) => {
      const [, scheme = '', rest] = /^(sparse\+|registry\+)?(.*)$/.exec(text ?? '') ?? []
      const address = withoutCredential(rest)
      return address ? [[name, `${scheme}${address}`]] : []
    }),
  )
}

function value(text: string, key: string): string | undefined {
  return new RegExp(`^[ \\t]*${key}[ \\t]*=[ \\t]*(.+)$`, 'm').exec(text)?.[1]
}

function list(text: string | undefined, separator = /\s+/): string[] {
  return (text ?? '').split(separator).flatMap((part) => withoutCredential(part) ?? [])
}

function all(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, found = '']) => found)
}

function withoutUndefined(values: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => Boolean(entry[1])))
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** A home may hold anything: what is no file, or a huge one, is as good as missing. */
function readText(file: string): string {
  try {
    const { size } = statSync(file)
    return statSync(file).isFile() && size <= MAX_BYTES ? readFileSync(file, 'utf8') : ''
  } catch {
    return ''
  }
}
