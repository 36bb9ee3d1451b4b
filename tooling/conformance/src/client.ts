import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { env } from 'node:process'
import type { HttpServer, Manifest, ToolSurface } from '@matrix/manifest'
import {
  bootTools,
  executeTool,
  openPackageStore,
  openSandbox,
  openServerPool,
  type ServerPool,
} from '@matrix/tool-manager'

/** What a scenario wants to be called, where it says so; otherwise every tool is called with what its schema asks for. */
type Context = { toolCalls?: { name: string; arguments: Record<string, unknown> }[] }

const endpoint = process.argv.at(-1) ?? ''
const context = JSON.parse(env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Context

const folder = await mkdtemp(join(tmpdir(), 'matrix-conformance-'))
const pool = openServerPool({
  sandbox: await openSandbox({ mode: 'off' }),
  store: openPackageStore(folder, { offline: true }),
  connectTimeoutMs: 60_000,
})
try {
  await useServer(pool)
} finally {
  await pool.close()
  await rm(folder, { recursive: true })
}

/** What an agent does with a server: its tools are looked up, agreed to, verified and called. */
async function useServer(pool: ServerPool): Promise<void> {
  const unknown: HttpServer = { alias: 'scenario', transport: 'http', endpoint, version: '1.0.0', tools: [] }
  const { tools: found } = await pool.enumerate({ server: unknown, sideEffects: [] })
  const agreed = found.map(({ name }) => ({ name, side_effect_class: 'read' as const }))
  const manifest: Manifest = {
    schema_version: 1,
    agent: 'matrix://agent/conformance',
    allowed_side_effects: ['read'],
    servers: [{ ...unknown, tools: agreed }],
  }
  const tools = bootTools({ pool, manifest, onEvent: (event) => console.error(JSON.stringify(event)) })
  const calls = context.toolCalls ?? found.map((tool) => ({ name: tool.name, arguments: argumentsOf(tool, found) }))
  for (const call of calls)
    console.log(call.name, JSON.stringify(await executeTool(tools, { name: call.name, input: call.arguments })))
  await tools.close()
}

/** The least that a schema is content with. An argument called `schema` is given the first tool's own, as it arrived. */
function argumentsOf({ inputSchema }: ToolSurface, found: readonly ToolSurface[]): Record<string, unknown> {
  const { properties = {}, required = [] } = inputSchema as {
    properties?: Record<string, { type?: string }>
    required?: string[]
  }
  const values: Record<string, unknown> = {
    number: 1,
    integer: 1,
    boolean: true,
    string: 'text',
    array: [],
    object: {},
    null: null,
  }
  return Object.fromEntries(
    required.map((name) => [
      name,
      name === 'schema' ? found[0]?.inputSchema : values[properties[name]?.type ?? 'object'],
    ]),
  )
}
