import { loopTools, orchestratorTools, type ToolSpec } from '@matrix/protocol'
import { createLoopTools, type ToolDefinition, type ToolExecResult } from '@matrix/provider-loop'
import * as z from 'zod'
import type { Agent } from '../agent.ts'
import { askAboutFlow } from '../flow-question.ts'
import { noticeGit } from '../git-note.ts'
import { originOfOwnCall } from '../origin.ts'
import type { ProjectContext } from '../project-context.ts'
import type { AgentTools } from '../tool-host.ts'
import { isoNow } from '../world.ts'
import { type AgentServer, ownTools } from './agent-server.ts'
import { mayCall, type OwnTool } from './own-tool.ts'
import { skillTool } from './skill-tool.ts'

/**
 * Everything that the agent of one task can call: what it may of the orchestrator's own tools, the loop's verbs, without which
 * it could not end, and what its manifest allows.
 */
export async function createAgentTools(
  ctx: ProjectContext,
  agent: Agent,
  server: AgentServer,
): Promise<ToolDefinition[]> {
  const offered = await offeredTools(ctx, agent)
  const own = offered.map((tool) => bind(ctx, agent, server, tool))
  const verbs = createLoopTools().filter(({ name }) => name !== loopTools.done)
  return [...own, ...verbs, ...(await externalTools(ctx, agent))]
}

/** The same tools as the model is told of them, in the same order, without an agent to call them. */
export async function listToolSpecs(ctx: ProjectContext, tools: AgentTools): Promise<ToolSpec[]> {
  const own = await offeredTools(ctx, { tools })
  const verbs = createLoopTools().filter(({ name }) => name !== loopTools.done)
  const specs = own.map((tool) => ({ ...tool, inputSchema: schemaOf(tool) }))
  return [...specs, ...verbs, ...(await tools.specs())].map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema,
  }))
}

/** Where there are no skills, nothing is said of them. */
async function offeredTools(ctx: ProjectContext, agent: Pick<Agent, 'tools'>): Promise<OwnTool[]> {
  const hasSkills = (await ctx.skills.list()).some(({ state }) => state !== 'invalid')
  const allowed = ownTools.filter((tool) => tool.name === loopTools.done || mayCall(agent, tool))
  return allowed.filter((tool) => hasSkills || tool !== skillTool)
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

function bind(ctx: ProjectContext, agent: Agent, server: AgentServer, tool: OwnTool): ToolDefinition {
  const { name, description, sideEffect } = tool
  return {
    name,
    description,
    inputSchema: schemaOf(tool),
    async handler(input, { toolCallId }) {
      await askAboutFlow(ctx, agent, { name, sideEffect, input, callId: toolCallId })
      const result = await server.call(name, input, toolCallId)
      return { ...result, origin: originOfOwnCall(ctx.tree, agent.taskId, name, input) }
    },
  }
}

async function externalTools(ctx: ProjectContext, agent: Agent): Promise<ToolDefinition[]> {
  const { tools } = agent
  if (!tools) return []
  const specs = await tools.specs()
  return specs.map((spec) => ({
    ...spec,
    ...withUri(tools.uriOf(spec.name)),
    async handler(input, { toolCallId, signal }) {
      const enter = tools.isHeavy(spec.name) ? () => ctx.heavyTools.enter(signal) : undefined
      const onProgress = (text: string) => showOutput(ctx, agent, toolCallId, text)
      const result = await tools.call(spec.name, input, { callId: toolCallId, signal, onProgress, enter })
      return withGitNote(result, await noticeGit(ctx, agent))
    },
  }))
}

function withUri(uri: string | undefined): Pick<ToolDefinition, 'uri'> {
  return uri === undefined ? {} : { uri }
}

/** Shows what a call prints while it runs: all of it to those who watch, the last line in the tree. */
function showOutput(ctx: ProjectContext, agent: Agent, callId: string, text: string): void {
  const { taskId } = agent
  const last = text.trimEnd().split('\n').at(-1)?.trim()
  if (last) agent.doing = last.slice(0, MAX_DOING)
  agent.idle.moved()
  ctx.touch(taskId)
  const event = { type: 'tool_output' as const, taskId, ts: isoNow(ctx.world), callId, text }
  ctx.emit({ kind: 'live', projectId: ctx.id, taskId, event })
}

const MAX_DOING = 200

function withGitNote(result: ToolExecResult, note: string | undefined): ToolExecResult {
  return note === undefined ? result : { ...result, content: [...result.content, { type: 'text', text: note }] }
}
