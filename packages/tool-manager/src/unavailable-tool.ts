import { isToolVisible, type Lock, type Policy } from '@matrix/manifest'
import type { ToolSpec } from '@matrix/protocol'

/** Tools that the agent names, of servers that were left out when it was added, by their names on the wire. */
export type UnavailableTools = ReadonlyMap<string, UnavailableTool>

export type UnavailableTool = { alias: string; tool: string; reason: string }

/** They are offered all the same: the model learns by a call that the server is missing, and chooses another way. */
export function findUnavailable({
  unavailable = {},
  policy,
}: Partial<Pick<Lock, 'unavailable' | 'policy'>>): UnavailableTools {
  const found = Object.entries(unavailable).flatMap(([alias, { tools, reason }]) =>
    tools
      .filter((tool) => isShown(policy, alias, tool))
      .map((tool) => [wireName(alias, tool), { alias, tool, reason }] as const),
  )
  return new Map(found)
}

export function unavailableSpecs(tools: UnavailableTools): ToolSpec[] {
  return [...tools].map(([name, { alias, tool }]) => ({
    name,
    description: `${tool} of the server "${alias}", which is not available on this machine.`,
    inputSchema: { type: 'object' },
  }))
}

function isShown(policy: Policy | undefined, server: string, tool: string): boolean {
  return !policy || isToolVisible(policy.tools, { server, tool })
}

function wireName(alias: string, tool: string): string {
  return `mcp__${alias}__${tool}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)
}
