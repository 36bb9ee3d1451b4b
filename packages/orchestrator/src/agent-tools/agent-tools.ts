import { loopTools, orchestratorTools } from '@matrix/protocol'
import { createLoopTools, type ToolDefinition } from '@matrix/provider-loop'
import * as z from 'zod'
import type { Agent } from '../agent.ts'
import type { ProjectContext } from '../project-context.ts'
import { type AgentServer, ownTools } from './agent-server.ts'
import { mayCall, type OwnTool } from './own-tool.ts'

/**
 * Everything that the agent of one task can call: what it may of the orchestrator's own tools, the loop's verbs, without which
 * it could not end, and what its manifest allows.
 */
export async function createAgentTools(
  ctx: ProjectContext,
  agent: Agent,
  server: AgentServer,
): Promise<ToolDefinition[]> {
  const offered = ownTools.filter((tool) => tool.name === loopTools.done || mayCall(agent, tool))
  const own = offered.map((tool) => bind(server, tool))
  const verbs = createLoopTools().filter(({ name }) => name !== loopTools.done)
  return [...own, ...verbs, ...(await externalTools(ctx, agent))]
}

/** Calls that have the same effect however often they are made, and may be made again after a crash. */
export function isRepeatable(name: string): boolean {
  return (Object.values(orchestratorTools) as string[]).includes(name)
}

const schemas = new WeakMap<OwnTool, ToolDefinition['inputSchema']>()

/** What the server lists, worked out once: it is the same for every agent, and as much work as the rest of a launch. */
function schemaOf(tool: OwnTool): ToolDefinition['inputSchema'] {
  const known = schemas.get(tool)
  if (known) return known
  const { $schema: _, ...schema } = z.toJSONSchema(tool.input, { io: 'input' })
  schemas.set(tool, schema)
  return schema
}

function bind(server: AgentServer, tool: OwnTool): ToolDefinition {
  const { name, description } = tool
  return {
    name,
    description,
    inputSchema: schemaOf(tool),
    handler: (input, { toolCallId }) => server.call(name, input, toolCallId),
  }
}

async function externalTools(ctx: ProjectContext, agent: Agent): Promise<ToolDefinition[]> {
  const { tools } = agent
  if (!tools) return []
  const specs = await tools.specs()
  return specs.map((spec) => ({
    ...spec,
    uri: tools.uriOf(spec.name),
    handler(input, { toolCallId, signal }) {
      const enter = tools.isHeavy(spec.name) ? () => ctx.heavyTools.enter(signal) : undefined
      const onProgress = (text: string) => {
        agent.doing = text
        agent.idle.moved()
        ctx.touch(agent.taskId)
      }
      return tools.call(spec.name, input, { callId: toolCallId, signal, onProgress, enter })
    },
  }))
}
