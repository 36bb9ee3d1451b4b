import type { Server, ToolSurface } from '@matrix/manifest'
import { BUILTIN_ALIAS } from '@matrix/protocol'
import * as z from 'zod'
import { annotate, builtinServerTools } from './serve-tools.ts'

/** Matrix's own tools are declared like any other server; their bytes came with Matrix. */
export function isBuiltinServer(server: Server): boolean {
  return (
    server.alias === BUILTIN_ALIAS &&
    server.transport === 'stdio' &&
    server.command === 'mxd' &&
    server.args?.[0] === 'serve-tools'
  )
}

/** What the built-in server says of its tools, without starting it. */
export function builtinSurfaces(): ToolSurface[] {
  return builtinServerTools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    inputSchema: z.toJSONSchema(tool.input, { io: 'input', target: 'draft-2020-12' }),
    annotations: annotate(tool),
  }))
}
