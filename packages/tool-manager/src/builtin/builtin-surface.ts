import type { ToolSurface } from '@matrix/manifest'
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
