import type { SideEffect } from '@matrix/manifest'
import { BUILTIN_ALIAS } from '@matrix/protocol'
import type { ToolExecResult } from '@matrix/provider-loop'
import type * as z from 'zod'
import type { Agent } from '../agent.ts'
import type { ProjectContext } from '../project-context.ts'

/** A tool of the orchestrator, for whichever agent calls it. */
export type OwnTool<Input extends z.ZodObject = z.ZodObject> = {
  /** As the model is told. */
  name: string
  description: string
  /** What it does to files; a tool for tasks and messages alone does nothing to them. */
  sideEffect?: SideEffect
  input: Input
  run(ctx: ProjectContext, agent: Agent, input: z.output<Input>, callId: string): Promise<ToolExecResult | string>
}

/** Describes a tool; the types of its input follow from the schema. */
export function ownTool<Input extends z.ZodObject>(tool: OwnTool<Input>): OwnTool {
  return tool as unknown as OwnTool
}

/** `mcp__mxd__create_task` is what a model says, `create_task` what the server of that alias has. */
export function servedName(wireName: string): string {
  return wireName.replace(`mcp__${BUILTIN_ALIAS}__`, '')
}

/** Whether an agent may call a tool, by what the user and its manifest say. */
export function mayCall({ tools }: Pick<Agent, 'tools'>, { name, sideEffect }: OwnTool): boolean {
  return !tools || tools.allows({ name: servedName(name), side_effect_class: sideEffect })
}
