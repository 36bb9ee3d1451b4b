import { readFileSync } from 'node:fs'
import { createLock, digestValue, type Lock, type LockedServer, type Manifest } from '@matrix/manifest'
import { BUILTIN_ALIAS } from '@matrix/protocol'
import { builtinSurfaces } from '@matrix/tool-manager'

/** The agents that come with Matrix, by the name of their files. */
export const shippedAgents = ['default', 'neo', 'forge', 'solo'] as const

export function agentFile(name: string): URL {
  return new URL(`../../../agents/${name}`, import.meta.url)
}

export function readAgentFile<T>(name: string): T {
  return JSON.parse(readFileSync(agentFile(name), 'utf8'))
}

/** The lock of a shipped agent as it should be now: the built-in server as it is in the sources, the others as they were locked. */
export function renewLock(manifest: Manifest, { servers, policy, hook_files }: Lock): Lock {
  const renewed = manifest.servers.map(({ alias, package_digest: digest }) => {
    const server = servers[alias]
    if (!server) throw new Error(`${alias} was never locked: run matrix lock.`)
    const { surface: _, tools, ...rest } = server
    const resolved = { ...rest, tools: Object.values(tools).map(({ definition }) => definition) }
    return [alias, alias === BUILTIN_ALIAS ? renewBuiltin(rest, digest) : resolved] as const
  })
  const source = { format: 'matrix', digest: digestValue(manifest) }
  return createLock({ source, manifest, servers: Object.fromEntries(renewed), policy, hook_files })
}

function renewBuiltin(server: Unlocked, digest: string | undefined) {
  if (server.transport !== 'stdio' || !digest) throw new Error('The built-in server is started from a file.')
  return { ...server, package: { ...server.package, digest }, tools: builtinSurfaces() }
}

type Unlocked = LockedServer extends infer Each
  ? Each extends unknown
    ? Omit<Each, 'surface' | 'tools'>
    : never
  : never
