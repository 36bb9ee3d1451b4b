import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  createLock,
  digestBytes,
  type Lock,
  type Manifest,
  manifestDigest,
  type StdioServer,
  type ToolSurface,
} from '@matrix/manifest'
import { openPackageStore, openSandbox, openServerPool, type ServerPool } from '@matrix/tool-manager'

/** A server without an SDK, so that what is measured is the client. */
export const serverFile = fileURLToPath(
  new URL('../../../../packages/tool-manager/fixtures/scripted-server.mjs', import.meta.url),
)
const digest = digestBytes(readFileSync(serverFile))

export function definition(name: string): ToolSurface {
  return {
    name,
    description: `Does ${name} to what stands in the worktree, and says in a few words what it did and what it left alone.`,
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string', description: 'Where' }, value: { type: 'string', maxLength: 1000 } },
      required: ['path'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  }
}

export function scripted(alias: string, tools: ToolSurface[], file = serverFile): StdioServer {
  return {
    alias,
    transport: 'stdio',
    command: 'node',
    args: [file, JSON.stringify({ tools })],
    package_digest: digest,
    version: '1.0.0',
    tools: tools.map(({ name }) => ({ name, description: 'Measured', side_effect_class: 'read' })),
  }
}

export function manifestOf(servers: StdioServer[]): Manifest {
  return { schema_version: 1, agent: 'matrix://agent/bench', allowed_side_effects: ['read'], servers }
}

export function lockOf(manifest: Manifest, tools: ToolSurface[]): Lock {
  const locked = manifest.servers.map((server) => {
    const { command, args = [], version } = server as StdioServer
    const from = { ecosystem: 'file' as const, name: serverFile, version, digest }
    return [server.alias, { transport: 'stdio' as const, launch: { command, args }, package: from, tools }]
  })
  const source = { format: 'matrix', digest: manifestDigest(manifest) }
  return createLock({ source, manifest, servers: Object.fromEntries(locked) })
}

export async function openPool(): Promise<ServerPool> {
  const store = openPackageStore(join(tmpdir(), 'matrix-bench-store'), { offline: true })
  return openServerPool({ sandbox: await openSandbox({ mode: 'off' }), store })
}
