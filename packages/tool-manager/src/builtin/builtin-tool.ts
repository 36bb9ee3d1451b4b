import type { ArgumentRoles, SideEffect } from '@matrix/manifest'
import type { CallToolResult } from '@modelcontextprotocol/server'
import type * as z from 'zod'
import type { IsDenied } from './denied-path.ts'
import type { Tree } from './find-files.ts'
import type { ShellSession } from './shell-session.ts'

/** What the built-in tools of one agent share between calls. */
export type ToolHost = Tree & { shell: ShellSession }

/** One call: its cancellation, and a way to say how far it is, if somebody wants to know. */
export type ToolCall = {
  signal: AbortSignal
  report: ((message: string) => void) | undefined
  /** What tools that look through folders leave out. */
  isDenied: IsDenied
}

/** One built-in tool. Its class is what a manifest declares for it. */
export type BuiltinTool<Input extends z.ZodObject = z.ZodObject> = {
  name: string
  description: string
  side_effect_class: SideEffect
  input: Input
  /** Which of its arguments are paths and commands. */
  roles: ArgumentRoles
  run(host: ToolHost, input: z.infer<Input>, call: ToolCall): Promise<CallToolResult>
}

/** Keeps the link between a tool's schema and what it is called with. */
export function builtinTool<Input extends z.ZodObject>(tool: BuiltinTool<Input>): BuiltinTool<Input> {
  return tool
}

export function answer(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] }
}
