import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join, relative } from 'node:path'
import { findHostRule } from '@matrix/tool-manager'
import { findRegistryAddresses, type RegistryAddresses } from './registry-address.ts'

/** A host that a project fetches from, and what says so. */
export type ProposedHost = { host: string; from: string }

type Ecosystem = {
  files: RegExp
  /** What the file means by itself; `own` is what the user's configuration has in their place. */
  hosts?: readonly string[]
  own?: keyof Omit<RegistryAddresses, 'env'>
  /** Addresses in it that something is fetched from. */
  addresses?: RegExp
}

const npmHosts = ['registry.npmjs.org']
const mavenHosts = ['repo.maven.apache.org', 'repo1.maven.org']

const ecosystems: readonly Ecosystem[] = [
  { files: /^package\.json$/, hosts: npmHosts, own: 'npm' },
  { files: /^(?:package-lock|npm-shrinkwrap)\.json$/, addresses: /"resolved":\s*"(?:git\+)?(https?:\/\/[^"\s]+)"/g },
  { files: /^pnpm-lock\.yaml$/, addresses: /\btarball:\s*(https?:\/\/[^\s,}]+)/g },
  // A registry of its own: versions from 2 on do not read npm's settings, and their locks name no address.
  { files: /^yarn\.lock$/, hosts: ['registry.yarnpkg.com'], addresses: /^[ \t]+resolved "(https?:\/\/[^"\s]+)"/gm },
  { files: /^bun\.lock$/, addresses: /"(https?:\/\/[^"\s]+\.tgz)"/g },
  { files: /^\.npmrc$/, addresses: /^(?:@[^:\s]+:)?registry\s*=\s*"?(https?:\/\/[^\s"]+)/gm },
  { files: /^\.yarnrc$/, addresses: /^(?:"@[^"]+:)?registry"?\s+"?(https?:\/\/[^\s"]+)/gm },
  { files: /^\.yarnrc\.yml$/, addresses: /npmRegistryServer:\s*"?(https?:\/\/[^\s"]+)/g },
  {
    files: /^(?:pyproject\.toml|setup\.(?:py|cfg)|requirements[\w.-]*\.txt|Pipfile|tox\.ini)$/,
    hosts: ['pypi.org', 'files.pythonhosted.org'],
    own: 'python',
    addresses: /(?:--(?:extra-)?index-url[= ]|--find-links[= ]|-[if] |\burl\s*=\s*["'])\s*(https?:\/\/[^\s"'#]+)/g,
  },
  {
    files: /^(?:poetry|uv|pdm)\.lock$|^Pipfile\.lock$/,
    addresses: /"?(?:url|registry)"?\s*[=:]\s*"(https?:\/\/[^"\s]+)"/g,
  },
  { files: /^pip\.conf$/, addresses: /index-url\s*=\s*(https?:\/\/\S+)/g },
  {
    files: /^Cargo\.toml$/,
    hosts: ['index.crates.io', 'static.crates.io'],
    own: 'cargo',
    addresses: /\bgit\s*=\s*"(https?:\/\/[^"\s]+)"/g,
  },
  { files: /^Cargo\.lock$/, addresses: /"(?:git|sparse)\+(https?:\/\/[^"\s]+)"/g },
  {
    files: /^\.cargo\/config(?:\.toml)?$/,
    addresses: /^[ \t]*(?:index|registry)\s*=\s*"(?:sparse\+)?(https?:\/\/[^"\s]+)"/gm,
  },
  { files: /^go\.mod$/, hosts: ['proxy.golang.org', 'sum.golang.org'], own: 'go' },
  {
    files: /^pom\.xml$/,
    hosts: mavenHosts,
    own: 'maven',
    addresses: /<(?:repository|pluginRepository)>[\s\S]{0,400}?<url>\s*(https?:\/\/[^<\s]+)/g,
  },
  {
    files: /^(?:build|settings)\.gradle(?:\.kts)?$/,
    hosts: [...mavenHosts, 'plugins.gradle.org', 'plugins-artifacts.gradle.org'],
    own: 'maven',
    addresses: /\burl\s*[=(]?\s*(?:uri\()?\s*["'](https?:\/\/[^"'\s]+)/g,
  },
  { files: /^gradle\/wrapper\/gradle-wrapper\.properties$/, addresses: /^distributionUrl=(https?\\?:\/\/\S+)/gm },
  {
    files: /^(?:Gemfile|Gemfile\.lock|.+\.gemspec)$/,
    hosts: ['rubygems.org', 'index.rubygems.org'],
    addresses: /(?:remote:|source)\s*\(?["']?(https?:\/\/[^\s"')]+)/g,
  },
  { files: /^composer\.json$/, hosts: ['repo.packagist.org', 'packagist.org'] },
  { files: /^composer\.lock$/, addresses: /"url":\s*"(https?:\/\/[^"\s]+)"/g },
  { files: /^mix\.exs$/, hosts: ['repo.hex.pm', 'hex.pm'] },
  {
    files: /^.+\.(?:cs|fs|vb)proj$|^nuget\.config$/i,
    hosts: ['api.nuget.org'],
    addresses: /\bvalue="(https?:\/\/[^"\s]+)"/g,
  },
  { files: /^\.gitmodules$/, addresses: /^[ \t]*url\s*=\s*(https?:\/\/\S+)/gm },
]

const MAX_BYTES = 16 << 20
const MAX_FOLDERS = 100
const MAX_HOSTS = 40

/** The hosts that the files of a repository, and the user's own configuration, fetch packages from. Nothing is run or followed. */
export async function proposeHosts(
  repository: string,
  registries: RegistryAddresses = findRegistryAddresses(),
): Promise<ProposedHost[]> {
  const found = new Map<string, string>()
  const add = (address: string, from: string) => {
    const host = hostOf(address)
    if (host && !found.has(host) && found.size < MAX_HOSTS) found.set(host, from)
  }
  for (const folder of await listFolders(repository))
    for (const name of await listFiles(folder)) {
      const from = relative(repository, join(folder, name))
      for (const { files, hosts = [], own, addresses } of ecosystems) {
        if (!files.test(name)) continue
        const instead = own ? registries[own] : []
        for (const address of instead) add(address, `your own configuration, for ${from}`)
        if (instead.length === 0) for (const host of hosts) add(`https://${host}/`, from)
        if (addresses) for (const address of findAll(await readHead(join(folder, name)), addresses)) add(address, from)
      }
    }
  return [...found].map(([host, from]) => ({ host, from }))
}

/** The same as an entry of `hosts`. What is an address by number, or a name of this machine, is never proposed. */
function hostOf(address: string): string | undefined {
  try {
    const { hostname, port } = new URL(address.replaceAll('\\:', ':'))
    const host = port === '' ? hostname : `${hostname}:${port}`
    const isNamed = isIP(hostname.replace(/^\[|\]$/g, '')) === 0 && hostname.includes('.')
    return isNamed && findHostRule(host) ? host : undefined
  } catch {
    return undefined
  }
}

function findAll(text: string, pattern: RegExp): Set<string> {
  const found = new Set<string>()
  for (const [, address = ''] of text.matchAll(pattern))
    found.add(/^https?\\?:\/\/[^/]{1,300}/.exec(address)?.[0] ?? '')
  return found
}

const skipped = /^(?:\.git|node_modules|vendor|target|dist|build|\.venv|venv)$/

/** The repository itself and the folders in it: most of what has several parts keeps each in one of them. */
async function listFolders(repository: string): Promise<string[]> {
  const entries = await readdir(repository, { withFileTypes: true }).catch(() => [])
  const inner = entries.filter((entry) => entry.isDirectory() && !skipped.test(entry.name)).map(({ name }) => name)
  return [repository, ...inner.slice(0, MAX_FOLDERS).map((name) => join(repository, name))]
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  return [...names, '.cargo/config.toml', '.cargo/config', 'gradle/wrapper/gradle-wrapper.properties']
}

/** Links are not followed, and what is no file is not waited for. */
async function readHead(file: string): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  )
  if (!handle) return ''
  try {
    if (!(await handle.stat()).isFile()) return ''
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(MAX_BYTES, (await handle.stat()).size)), 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}
