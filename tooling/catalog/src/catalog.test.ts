import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { checkLock, formatLock, type Lock, rules, serverSurfaceDigest, type ToolSurface } from '@matrix/manifest'
import { BUILTIN_ALIAS } from '@matrix/protocol'
import { builtinServerTools, getServerFile } from '@matrix/tool-manager'
import { describe, expect, test } from 'vitest'
import { agentFile, readAgentFile, renewLock, shippedAgents } from './shipped-lock.ts'

describe.each(fetchedServers().map((entry) => [entry.server.alias, entry] as const))('%s', (_alias, entry) => {
  const { server } = entry
  const surface = readSurface(entry)

  test('declares exactly the tools that the pinned package advertises', () => {
    expect(namesOf(server)).toEqual(namesOf(surface))
  })

  test('carries the digest and the integrity of the published package', () => {
    expect([server.package_digest, entry.integrity]).toEqual([surface.package_digest, surface.integrity])
  })

  test('is launched at its pinned version, with the arguments its tools were listed with', () => {
    expect(server.args).toEqual(['-y', `${entry.package}@${server.version}`, ...surface.args])
  })

  test('says which variables of the environment it needs', () => {
    expect(entry.needs_env).toEqual(referencesIn([...server.args, ...server.env]))
  })
})

test('the built-in tools are declared and classified as the package has them, at the digest of their one file', () => {
  const { server } = readCatalog().find((entry) => entry.server.alias === BUILTIN_ALIAS) ?? fail()
  const classes = (tools: readonly Tool[]) => tools.map(({ name, side_effect_class }) => [name, side_effect_class])

  expect(classes(server.tools)).toEqual(classes(builtinServerTools))
  expect(server.package_digest, 'run `pnpm pin` after a change of the built-in tools').toBe(
    `sha256:${createHash('sha256').update(readFileSync(getServerFile())).digest('hex')}`,
  )
})

describe.each(['default', 'neo', 'forge'])('agents/%s.json', (name) => {
  const manifest = readManifest(name)

  test('uses servers exactly as the catalogue has them', () => {
    const catalogue = readCatalog().map((entry) => entry.server)

    expect(catalogue).toEqual(expect.arrayContaining(manifest.servers))
  })

  test('has no server without a tool that it may call', () => {
    const idle = manifest.servers.filter(({ tools }) => !tools.some((tool) => isAllowed(tool, manifest)))

    expect(idle.map((server) => server.alias)).toEqual([])
  })

  test('runs without a key', () => {
    expect(manifest.servers.flatMap(({ args, env }) => referencesIn([...args, ...env]))).toEqual([])
  })

  test('allows nothing that default does not, so default may start it as a child', () => {
    const parent = readManifest('default')

    expect(parent.allowed_side_effects).toEqual(expect.arrayContaining(manifest.allowed_side_effects))
    expect(parent.servers).toEqual(expect.arrayContaining(manifest.servers))
  })
})

describe.each(shippedAgents.map((name) => [name] as const))('agents/%s.lock.json', (name) => {
  const lock = readAgentFile<Lock>(`${name}.lock.json`)

  test('is the lock of the manifest beside it, with the built-in tools as they are now', () => {
    const text = readFileSync(agentFile(`${name}.lock.json`), 'utf8')

    expect(text, 'run `pnpm pin` after a change of the built-in tools or of a manifest').toBe(
      formatLock(renewLock(readAgentFile(`${name}.json`), lock)),
    )
    expect(checkLock(lock).problems.filter(({ rule }) => rules[rule].severity === 'error')).toEqual([])
  })

  test('has the tools of every fetched server as its package advertises them', () => {
    const fetched = fetchedServers().filter(({ server }) => Object.hasOwn(lock.servers, server.alias))

    for (const entry of fetched)
      expect(lock.servers[entry.server.alias]?.surface, `run \`matrix lock agents/${name}.json\``).toBe(
        serverSurfaceDigest(readSurface(entry).tools),
      )
  })

  test('comes with the dependencies of every fetched package', () => {
    const wanted = Object.values(lock.servers).flatMap((server) =>
      server.transport === 'stdio' && server.package.dependencies_digest ? [server.package.dependencies_digest] : [],
    )
    const kept = wanted.length === 0 ? {} : readAgentFile<object>(`${name}.lock.dependencies.json`)

    expect(Object.keys(kept).sort()).toEqual(wanted.sort())
  })
})

test('neo can read and use the network, and nothing else', () => {
  const neo = readManifest('neo')
  const callable = neo.servers.flatMap(({ tools }) => tools).filter((tool) => isAllowed(tool, neo))

  expect(neo.allowed_side_effects).toEqual(['read', 'network'])
  expect(new Set(callable.map((tool) => tool.side_effect_class))).toEqual(new Set(['read', 'network']))
})

test('forge has no way to the network', () => {
  expect(readManifest('forge').allowed_side_effects).toEqual(['read', 'write', 'shell'])
})

type Tool = { name: string; side_effect_class: string }
type Server = {
  alias: string
  args: string[]
  env: string[]
  package_digest: string
  version: string
  tools: Tool[]
}
type Manifest = { allowed_side_effects: string[]; servers: Server[] }
type Entry = { package: string; integrity: string; needs_env: string[]; server: Server }
type Surface = { package_digest: string; integrity: string; args: string[]; tools: ToolSurface[] }

function readCatalog(): Entry[] {
  return readJson<{ servers: Entry[] }>('agents/catalog.json').servers
}

/** All but the one that comes with Matrix. */
function fetchedServers(): Entry[] {
  return readCatalog().filter(({ server }) => server.alias !== BUILTIN_ALIAS)
}

function fail(): never {
  throw new Error('The catalogue has no built-in server.')
}

function readManifest(name: string): Manifest {
  return readJson(`agents/${name}.json`)
}

/** What the package answered to tools/list when its pin was taken. */
function readSurface(entry: Entry): Surface {
  const file = `${entry.package.replace('@', '').replace('/', '-')}-${entry.server.version}.json`
  return readJson(`packages/manifest/fixtures/surfaces/${file}`)
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8'))
}

function namesOf({ tools }: { tools: { name: string }[] }): string[] {
  return tools.map((tool) => tool.name).sort()
}

function isAllowed(tool: Tool, { allowed_side_effects }: Manifest): boolean {
  return allowed_side_effects.includes(tool.side_effect_class)
}

function referencesIn(values: string[]): string[] {
  return values.flatMap((value) => [...value.matchAll(/\$env:(\w+)/g)].map(([, name = '']) => name))
}
