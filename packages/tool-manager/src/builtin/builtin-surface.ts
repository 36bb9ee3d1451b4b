import type { ArgumentRoles, ToolSurface } from '@matrix/manifest'
import * as z from 'zod'
import { annotate, builtinServerTools } from './serve-tools.ts'

/** What the built-in server says of its tools, without starting it. */
export function builtinSurfaces(): ToolSurface[] {
  return builtinServerTools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    inputSchema: z.toJSONSchema(tool.input, { io: 'input', target: 'draft-2020-12' }),
    annotations: annotate(tool),
  }))
}

/** One of them, with the roles of its arguments. */
export function findBuiltin(name: string): { surface: ToolSurface; roles: ArgumentRoles } | undefined {
  known ??= new Map(builtinSurfaces().map((surface, index) => [surface.name, { surface, roles: rolesOf(index) }]))
  return known.get(name)
}

let known: Map<string, { surface: ToolSurface; roles: ArgumentRoles }> | undefined

function rolesOf(index: number): ArgumentRoles {
  return builtinServerTools[index]?.roles ?? {}
}
