import type { ToolExecResult } from '@matrix/provider-loop'
import type * as z from 'zod'
import type { Agent } from '../agent.ts'
import type { ProjectContext } from '../project-context.ts'

/** A tool of the orchestrator, for whichever agent calls it. */
export type OwnTool<Input extends z.ZodObject = z.ZodObject> = {
  /** As the model is told. */
  name: string
  description: string
  input: Input
  run(ctx: ProjectContext, agent: Agent, input: z.output<Input>, callId: string): Promise<ToolExecResult | string>
}

/** Describes a tool; the types of its input follow from the schema. */
export function ownTool<Input extends z.ZodObject>(tool: OwnTool<Input>): OwnTool {
  return tool as unknown as OwnTool
}
