import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { proposeSideEffect, type StdioServer, ToolSurface } from '@matrix/manifest'
import { openPackageStore, type PackageStore } from './package-store.ts'
import type { Sandbox } from './sandbox/sandbox.ts'

const cache = fileURLToPath(new URL('../node_modules/.cache/packages', import.meta.url))
const surfaces = new URL('../../manifest/fixtures/surfaces/', import.meta.url)

/** Published servers, fetched once for all tests of this machine. */
export function publicStore(sandbox: Sandbox): PackageStore {
  return openPackageStore(cache, { sandbox })
}

export type PublicServer = 'filesystem' | 'everything' | 'memory' | 'sequential-thinking'

/** A reference server as its recorded surface pins it. */
export function publicServer(
  name: PublicServer,
  more: Partial<StdioServer> = {},
): StdioServer & { definitions: ToolSurface[] } {
  const file = new URL(`modelcontextprotocol-server-${name}-2026.8.31.json`, surfaces)
  const recorded = JSON.parse(readFileSync(file, 'utf8')) as {
    package: string
    version: string
    package_digest: string
    tools: ToolSurface[]
  }
  return {
    alias: name,
    transport: 'stdio',
    command: 'npx',
    args: ['-y', `${recorded.package}@${recorded.version}`],
    package_digest: recorded.package_digest,
    version: recorded.version,
    tools: recorded.tools.map((tool) => ({ name: tool.name, side_effect_class: proposeSideEffect(tool).class })),
    ...more,
    definitions: recorded.tools.map((tool) => ToolSurface.parse(tool)),
  }
}
