import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
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
  type Tool,
  type ToolSurface,
} from '@matrix/manifest'
import { onTestFinished } from 'vitest'
import { type BootOptions, bootTools, type CallEvent, type Tools } from './boot.ts'
import { executeTool } from './execute-tool.ts'
import { openPackageStore } from './package-store.ts'
import { openSandbox } from './sandbox/sandbox.ts'
import { openServerPool, type PoolEvent, type ServerPoolOptions } from './server-pool.ts'
import type { ToolResult } from './tool-result.ts'

const file = fileURLToPath(new URL('../fixtures/scripted-server.mjs', import.meta.url))
const digest = digestBytes(readFileSync(file))

/** A definition as the scripted server lists it by itself. */
export function surface(name: string, more: Partial<ToolSurface> = {}): ToolSurface {
  return { name, description: `Does ${name}`, inputSchema: { type: 'object' }, ...more }
}

/** A server that does what the script says; it declares the tools that the script lists, unless told otherwise. */
export function scriptedServer(
  script: Record<string, unknown> & { tools?: ToolSurface[] } = {},
  more: Partial<StdioServer> = {},
): StdioServer {
  const tools = script.tools ?? ['echo', 'silent', 'die', 'flood', 'env', 'change'].map((name) => surface(name))
  return {
    alias: 'scripted',
    transport: 'stdio',
    command: 'node',
    args: [file, plainJson({ ...script, tools })],
    package_digest: digest,
    version: '1.0.0',
    tools: [...new Set(tools.map(({ name }) => name))].map((name): Tool => ({ name, side_effect_class: 'read' })),
    ...more,
  }
}

/** What hides in a definition would also be found in the manifest that holds the script. */
function plainJson(value: unknown): string {
  return JSON.stringify(value).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

export function manifestOf(servers: Manifest['servers'], more: Partial<Manifest> = {}): Manifest {
  return { schema_version: 1, agent: 'matrix://agent/test', allowed_side_effects: ['read'], servers, ...more }
}

/** A lock over these definitions, as `matrix lock` would write it. */
export function lockOf(manifest: Manifest, definitions: Record<string, ToolSurface[]>): Lock {
  const servers = manifest.servers.map((server) => {
    const tools = definitions[server.alias] ?? []
    if (server.transport === 'http')
      return [server.alias, { transport: 'http' as const, endpoint: server.endpoint, tools }]
    const locked = {
      transport: 'stdio' as const,
      launch: { command: server.command, args: server.args ?? [] },
      package: { ecosystem: 'file' as const, name: file, version: server.version, digest: server.package_digest },
      tools,
    }
    return [server.alias, locked]
  })
  const source = { format: 'matrix', digest: manifestDigest(manifest) }
  return createLock({ source, manifest, servers: Object.fromEntries(servers) })
}

/** For `vi.waitFor` and `expect.poll`: what is waited for comes when the machine has time for it. */
export const patience = { timeout: 45_000, interval: 20 }

export type Harness = {
  tools: Tools
  events: (PoolEvent | CallEvent)[]
  call(name: string, input?: unknown, options?: Parameters<typeof executeTool>[2]): Promise<ToolResult>
  running(): number
}

type HarnessOptions = Partial<BootOptions> & { pool?: never; servers?: Manifest['servers'] } & {
  poolOptions?: Partial<ServerPoolOptions>
}

/** Boots tools on unboxed servers, with everything ended when the test is over. */
export async function bootHarness({
  servers = [scriptedServer()],
  poolOptions,
  ...options
}: HarnessOptions = {}): Promise<Harness> {
  const events: Harness['events'] = []
  const folder = temporaryFolder()
  const pool = openServerPool({
    sandbox: await openSandbox({ mode: 'off' }),
    store: openPackageStore(join(folder, 'packages'), { offline: true }),
    onEvent: (event) => events.push(event),
    // Long enough for a busy machine: whoever tests a limit sets it.
    connectTimeoutMs: 60_000,
    ...poolOptions,
  })
  onTestFinished(() => pool.close())
  const manifest = options.manifest ?? manifestOf(servers)
  const tools = bootTools({ onEvent: (event) => events.push(event), ...options, pool, manifest })
  return {
    tools,
    events,
    call: (name, input, callOptions) => executeTool(tools, { name, input }, callOptions),
    running: () => pool.running(),
  }
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'matrix-tools-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The words of a result, whatever else is in it. */
export function textOf({ content }: ToolResult): string {
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n')
}
