import { isOwnServer } from '@matrix/manifest'
import { type DurableEvent, orchestratorTools as names } from '@matrix/protocol'
import type { ResolvedTool } from '@matrix/tool-manager'
import type { Flow } from './flow.ts'
import { isKnownAddress, readAddresses } from './known-address.ts'
import { namedTasks } from './origin.ts'
import { agentsAbove, type ProjectContext, resolveAgentNames } from './project-context.ts'
import { readTaskChanges } from './review.ts'

export type ConversationFacts = {
  events(): Promise<readonly DurableEvent[]>
  /** Hosts that the user lets commands reach. */
  hosts(): Promise<readonly string[]>
  /** Digests of the servers that Matrix ships: each speaks to one service of its own. */
  shipped: ReadonlySet<string>
}

/** What a call of a server's tool carries out, if it can. Commands are held to their hosts by the proxy instead. */
export async function flowOfCall(
  { server, tool }: ResolvedTool,
  input: Record<string, unknown>,
  { events, hosts, shipped }: ConversationFacts,
): Promise<Flow | undefined> {
  const isRemote = server.transport === 'http' || tool.side_effect_class === 'network'
  if (isOwnServer(server) || !isRemote) return undefined
  const { urls, hasMore } = readAddresses(input)
  if (urls.length === 0) {
    if (server.package_digest && shipped.has(server.package_digest)) return undefined
    return { action: 'server', what: `${tool.name} sends its arguments to ${server.alias}.` }
  }
  const [said, listed] = [await events(), await hosts()]
  const unknown = urls.find((url) => !isKnownAddress(url, said, listed))
  if (!unknown && !hasMore) return undefined
  return { action: 'host', what: `${tool.name} sends its arguments to ${(unknown ?? urls[0])?.host}.` }
}

/** The same for the orchestrator's own tools. A message to another project is judged with its crossing, in one question. */
export async function flowOfOwnCall(
  ctx: ProjectContext,
  taskId: string,
  name: string,
  input: Record<string, unknown>,
): Promise<Flow | undefined> {
  if (name === names.createTask) return flowOfNewAgent(ctx, taskId, input)
  return name === names.mergeTask ? flowOfMerge(ctx, input) : undefined
}

/** A task by the same manifest has the same rights, and the mark with them. */
async function flowOfNewAgent(
  ctx: ProjectContext,
  taskId: string,
  { agent, parentId, persistent, title }: Record<string, unknown>,
): Promise<Flow | undefined> {
  const [parent] = parentId === undefined ? [] : namedTasks(ctx.tree, parentId)
  const above = agentsAbove(ctx, parent?.id ?? taskId)
  const own = await agentNameOf(ctx, taskId)
  const [given = own] = await resolved(ctx, [typeof agent === 'string' ? agent : undefined, ...above])
  if (given !== own)
    return { action: 'agent', what: `It gives the task "${title}" to an agent with other rights, ${given}.` }
  return persistent ? { action: 'agent', what: `It makes the task "${title}" run again and again.` } : undefined
}

/** The name of the manifest that a task works by. */
export async function agentNameOf(ctx: ProjectContext, taskId: string): Promise<string> {
  const [name = ''] = await resolved(ctx, agentsAbove(ctx, taskId))
  return name
}

async function resolved(ctx: ProjectContext, agents: readonly (string | undefined)[]): Promise<string[]> {
  const { agent: root, childAgent: child = root } = await ctx.settings()
  return resolveAgentNames(agents, { root, child })
}

async function flowOfMerge(ctx: ProjectContext, { taskId }: Record<string, unknown>): Promise<Flow | undefined> {
  const [task] = namedTasks(ctx.tree, taskId)
  if (!task?.branch) return undefined
  const { flagged } = await readTaskChanges(ctx, task.id)
  if (flagged.length === 0) return undefined
  const paths = flagged.map(({ path }) => path).join(', ')
  return { action: 'autorun', what: `It merges files that run by themselves: ${paths}.`, carries: task.untrusted }
}
