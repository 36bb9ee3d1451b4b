import { createHash } from 'node:crypto'
import { loopTools, MatrixError, orchestratorTools } from '@matrix/protocol'
import { createLoopTools, type ToolDefinition, type ToolExecResult, textResult } from '@matrix/provider-loop'
import * as z from 'zod'
import type { Agent } from '../agent.ts'
import type { ProjectContext } from '../project-context.ts'
import { conversationTools } from './conversation-tools.ts'
import { doneTool } from './done-tool.ts'
import { reviewTools } from './review-tools.ts'
import { treeTools } from './tree-tools.ts'

export type Extra = { toolCallId: string; signal: AbortSignal }

/** A tool of the orchestrator, before it is bound to an agent. */
export type OwnTool<Input extends z.ZodObject = z.ZodObject> = {
  name: string
  description: string
  input: Input
  run(ctx: ProjectContext, agent: Agent, input: z.output<Input>, extra: Extra): Promise<ToolExecResult | string>
}

/** Describes a tool; the types of its input follow from the schema. */
export function ownTool<Input extends z.ZodObject>(tool: OwnTool<Input>): OwnTool {
  return tool as unknown as OwnTool
}

/** Everything that the agent of one task can call: the orchestrator's own tools, the loop's verbs, and what its manifest allows. */
export async function createAgentTools(ctx: ProjectContext, agent: Agent): Promise<ToolDefinition[]> {
  const own = [...treeTools, ...conversationTools, ...reviewTools, doneTool].map((tool) => bind(ctx, agent, tool))
  const verbs = createLoopTools().filter(({ name }) => name !== loopTools.done)
  return [...own, ...verbs, ...(await externalTools(ctx, agent))]
}

/** Calls that have the same effect however often they are made, and may be made again after a crash. */
export function isRepeatable(name: string): boolean {
  return (Object.values(orchestratorTools) as string[]).includes(name)
}

/** An id that the same call always leads to, so that making it again makes nothing new. Sorts by the time of the call. */
export function idForCall(agent: Agent, callId: string): string {
  const at = Date.parse(agent.callTimes.get(callId) ?? '')
  const chance = createHash('sha256').update(`${agent.taskId}/${callId}`).digest()
  return encodeTime(Number.isNaN(at) ? 0 : at) + encodeChance(chance)
}

/** When a call that is made again was made first; what it did then is its own doing. */
export function firstMadeAt(agent: Agent, callId: string): { since?: Date } {
  const at = agent.repeated.has(callId) && agent.callTimes.get(callId)
  return at ? { since: new Date(at) } : {}
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

function encodeTime(at: number): string {
  let text = ''
  for (let rest = at, index = 0; index < 10; index += 1, rest = Math.floor(rest / 32)) text = alphabet[rest % 32] + text
  return text
}

function encodeChance(bytes: Uint8Array): string {
  return Array.from(bytes.subarray(0, 16), (byte) => alphabet[byte % 32]).join('')
}

const schemas = new WeakMap<OwnTool, ToolDefinition['inputSchema']>()

/** The same for every agent, and as much work as the rest of a launch. */
function schemaOf(tool: OwnTool): ToolDefinition['inputSchema'] {
  const known = schemas.get(tool)
  if (known) return known
  const { $schema: _, ...schema } = z.toJSONSchema(tool.input, { io: 'input' })
  schemas.set(tool, schema)
  return schema
}

function bind(ctx: ProjectContext, agent: Agent, tool: OwnTool): ToolDefinition {
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: schemaOf(tool),
    async handler(input, extra) {
      const parsed = tool.input.safeParse(input)
      if (!parsed.success) return textResult(`${tool.name}: ${z.prettifyError(parsed.error)}`, true)
      try {
        const result = await tool.run(ctx, agent, parsed.data, extra)
        return typeof result === 'string' ? textResult(result) : result
      } catch (error) {
        if (!(error instanceof MatrixError)) throw error
        return textResult(`${error.message}. ${error.hint}`, true)
      }
    },
  }
}

async function externalTools(ctx: ProjectContext, agent: Agent): Promise<ToolDefinition[]> {
  const { tools } = agent
  if (!tools) return []
  const specs = await tools.specs()
  return specs.map((spec) => ({
    ...spec,
    async handler(input, { toolCallId, signal }) {
      const leave = tools.isHeavy(spec.name) ? await ctx.heavyTools.enter(signal) : undefined
      const onProgress = (text: string) => {
        agent.doing = text
        agent.idle.moved()
        ctx.touch(agent.taskId)
      }
      try {
        return await tools.call(spec.name, input, { callId: toolCallId, signal, onProgress })
      } finally {
        leave?.()
      }
    },
  }))
}
