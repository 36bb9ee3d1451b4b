import { MatrixError, printableLine, removeInvisibleDeep, type TaskNode, type ToolSpec } from '@matrix/protocol'
import type { SessionConfiguration } from '@matrix/protocol/http'
import type { EventOf } from '@matrix/protocol/session'
import { type Route, totalTokens } from '@matrix/provider-loop'
import { listToolSpecs } from './agent-tools/agent-tools.ts'
import { agentsAbove, type ProjectContext, roleOf } from './project-context.ts'
import { skillLimits } from './skills/task-skills.ts'

type Frozen = EventOf<'session_config'>
type Offered = { route: Route; systemPrompt: string; tools: ToolSpec[] }

/** The system prompt of a task whose agent can call these tools. `prompt` is what the agent's own file brings. */
export async function systemPromptOf(
  ctx: ProjectContext,
  task: TaskNode,
  tools: string[],
  prompt: string | undefined,
): Promise<string> {
  const { maxDepth } = await ctx.settings()
  return ctx.prompts.system(roleOf(task), { maySplit: ctx.tree.depth(task.id) < maxDepth, tools, prompt })
}

/** What a session is bound to, and what a start would give it now. */
export async function readConfiguration(ctx: ProjectContext, taskId: string): Promise<SessionConfiguration> {
  const task = ctx.tree.get(taskId)
  if (task.folder) throw new MatrixError('TASK_STATUS', `"${printableLine(task.title)}" is a folder: it has no session`)
  const events = await ctx.log.readActive(task.id)
  const frozen = events.findLast((event): event is Frozen => event.type === 'session_config')
  const last = events.findLast(({ type }) => type === 'session_config' || type === 'config_requested')
  const turn = events.findLast((event): event is EventOf<'turn_completed'> => event.type === 'turn_completed')
  const offered = await offer(ctx, task)
  const tokens = frozen && turn ? totalTokens(turn.usage) : 0
  return {
    current: frozen ? named(frozen.provider, frozen.model, frozen.tools) : null,
    offered: named(offered.route.adapter.name, offered.route.model, offered.tools),
    changes: compare(frozen, offered),
    isRequested: last?.type === 'config_requested',
    cache: { tokens, usd: await costOfCache(offered.route, tokens) },
  }
}

async function offer(ctx: ProjectContext, task: TaskNode): Promise<Offered> {
  const [route] = await ctx.routes(roleOf(task))
  if (!route) throw new MatrixError('PROVIDER_MISSING', 'No model is configured.')
  const agent = ctx.agents.get(task.id)
  const running = agent && !agent.isOutdated ? agent.tools : undefined
  const opened = running ?? (await openForLook(ctx, task))
  try {
    const tools = await listToolSpecs(ctx, opened)
    const systemPrompt = await systemPromptOf(
      ctx,
      task,
      tools.map(({ name }) => name),
      opened.prompt,
    )
    return { route, ...removeInvisibleDeep({ systemPrompt, tools }) }
  } finally {
    if (!running) await opened.close()
  }
}

/** The tools of a task as its agent would be given them. Nothing is called. */
export async function openForLook(ctx: ProjectContext, task: TaskNode) {
  const { skills: ofProject } = await ctx.settings()
  // What was approved is read with the first question about skills.
  await ctx.skills.list()
  return ctx.tools.open({
    taskId: task.id,
    worktree: task.worktreePath ?? '',
    agents: agentsAbove(ctx, task.id),
    skills: (ofManifests) => skillLimits(ctx, task.id, [...ofProject, ...ofManifests]),
    approve: async () => ({ decision: 'deny' }),
    onBackgroundStart: () => () => {},
  })
}

function named(provider: string, model: string, tools: ToolSpec[]) {
  return { provider, model, tools: tools.map(({ name }) => name) }
}

function compare(frozen: Frozen | undefined, { route, systemPrompt, tools }: Offered): SessionConfiguration['changes'] {
  if (!frozen) return { model: false, prompt: false, addedTools: [], removedTools: [], changedTools: [] }
  const before = new Map(frozen.tools.map((tool) => [tool.name, JSON.stringify(tool)]))
  const after = new Map(tools.map((tool) => [tool.name, JSON.stringify(tool)]))
  return {
    model: frozen.model !== route.model || frozen.provider !== route.adapter.name,
    prompt: frozen.systemPrompt !== systemPrompt,
    addedTools: [...after.keys()].filter((name) => !before.has(name)),
    removedTools: [...before.keys()].filter((name) => !after.has(name)),
    changedTools: [...after].flatMap(([name, text]) => (before.has(name) && before.get(name) !== text ? [name] : [])),
  }
}

/** What it costs more to send so many tokens anew than to have them read from the cache. */
async function costOfCache({ adapter, model }: Route, tokens: number): Promise<number | null> {
  const pricing = await adapter.getModelPricing(model)
  if (!pricing) return null
  const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
  const anew = adapter.computeCost({ ...none, cacheWriteTokens: tokens }, pricing)
  return Math.max(0, anew - adapter.computeCost({ ...none, cacheReadTokens: tokens }, pricing))
}
