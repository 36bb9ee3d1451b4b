import {
  type DurableEvent,
  type Event,
  isPersistedByEmitEvent,
  type LiveEvent,
  type QueueMessage,
} from '@matrix/protocol'
import { displayToolCall, oneLine } from '@matrix/protocol/display'
import { type AgentResult, type ProviderAdapter, type Route, runProviderLoop } from '@matrix/provider-loop'
import { recordTask } from '@matrix/task-tree'
import type { Agent, StopReason } from './agent.ts'
import { commandsOf } from './background.ts'
import { completeTask, settleCompletion } from './completion.ts'
import { systemPromptOf } from './configuration.ts'
import { blockTask, budgetProblem, noticeProblem } from './halt.ts'
import { ensureWorktree, interruptAgent, type Launch } from './launch.ts'
import { unrecorded } from './ledger.ts'
import type { Limiter } from './limiter.ts'
import { type ProjectContext, roleOf } from './project-context.ts'
import { openQuestion } from './question.ts'
import { tellHeader } from './skills/task-skills.ts'
import { refreshAgent } from './stop.ts'
import { watchEvents, watchRoute, watchTool } from './telemetry.ts'
import { isoNow } from './world.ts'

/** Runs an agent to its end, storing everything before the loop goes on. */
export async function driveAgent(ctx: ProjectContext, agent: Agent, launch: Launch): Promise<void> {
  const events = await openLoop(ctx, agent, launch)
  const held: DurableEvent[] = []
  agent.activity = 'working'
  agent.idle.moved()
  ctx.touch(agent.taskId)
  for (;;) {
    const step = await events.next()
    if (step.done) return conclude(ctx, agent, step.value, held)
    const event = step.value
    if (event.type === 'agent_idle') agent.idle.rest()
    else agent.idle.moved()
    if (!isPersistedByEmitEvent(event)) {
      await observeSignal(ctx, agent, event)
      continue
    }
    // Whoever sent a message has stored it; the loop says it again when it came too late for the events it was given.
    if (event.type === 'message' && (await ctx.log.hasMessage(agent.taskId, event.message.id))) continue
    const isPart = isHeldBack(agent, event, held)
    held.push(event)
    if (isPart) continue
    // Asking for the next event means that this one is stored.
    const stored = withRequest(agent, held.splice(0), isoNow(ctx.world))
    await ctx.log.append(agent.taskId, stored)
    for (const each of stored) await observeFact(ctx, agent, each)
  }
}

async function openLoop(
  ctx: ProjectContext,
  agent: Agent,
  { task, worktree, events, routes, tools }: Launch,
): Promise<AsyncGenerator<Event, AgentResult>> {
  const { maxTurns, modelAttempts: attempts, agent: rootAgent, childAgent = rootAgent } = await ctx.settings()
  const watch = ctx.telemetry?.watch({
    projectId: ctx.id,
    taskId: task.id,
    parentTaskId: task.parentId,
    title: task.title,
    name: task.agent ?? (roleOf(task) === 'root' ? rootAgent : childAgent),
    provider: routes[0]?.adapter.name ?? '',
    model: routes[0]?.model ?? '',
  })
  const [first, ...fallbacks] = routes.map((route) =>
    limited(watch ? watchRoute(route, watch) : route, ctx.modelCalls),
  ) as [Route, ...Route[]]
  agent.model = first.model
  agent.contextWindow = await first.adapter.getContextWindow(first.model)
  const names = tools.map(({ name }) => name)
  const loop = runProviderLoop(
    first.adapter,
    {
      taskId: task.id,
      model: first.model,
      systemPrompt: await systemPromptOf(ctx, task, names, agent.tools?.prompt),
      tools: watch ? tools.map((tool) => watchTool(tool, watch)) : tools,
      events,
      signal: agent.abort.signal,
      fallbacks,
      budget: ctx.ledger.budgetOf(task.id),
      ...(maxTurns !== undefined && { limits: { maxTurns } }),
      retry: { attempts },
      waitedMs: () => agent.waitedMs,
      onSpeech: (event) => {
        agent.idle.moved()
        ctx.emit({ kind: 'live', projectId: ctx.id, taskId: task.id, event })
      },
      readMemory: async () => {
        const own = await agent.tools?.context?.(agent.abort.signal)
        return tellHeader(ctx, { worktree, task: ctx.tree.get(task.id), tools: names, agent: own })
      },
      readBeside: (messages) => hearHooks(agent, messages),
      ports: {
        now: ctx.world.clock.now,
        random: ctx.world.random,
        sleep: (ms, signal) => sleep(ctx, ms, signal),
      },
    },
    task.id,
    agent.queue,
  )
  return watch ? watchEvents(loop, watch) : loop
}

/** What the hooks of the agent's file have to say to each message of the user. */
async function hearHooks({ tools, abort: { signal } }: Agent, messages: readonly QueueMessage[]): Promise<string> {
  const prompts = messages.flatMap((message) => (message.source === 'user' ? [message.text] : []))
  const spoken = await Promise.all(prompts.map((prompt) => tools?.runHooks?.('userPromptSubmit', { prompt, signal })))
  return spoken.filter(Boolean).join('\n')
}

function sleep({ world }: ProjectContext, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      signal.removeEventListener('abort', wake)
      resolve()
    }
    const cancel = world.clock.after(ms, end, { keepsAlive: true })
    const wake = () => {
      cancel()
      resolve()
    }
    if (signal.aborted) wake()
    else signal.addEventListener('abort', wake, { once: true })
  })
}

/** The same route with a place in the queue for every call. */
function limited({ adapter, model }: Route, limiter: Limiter): Route {
  const callAPI: ProviderAdapter['callAPI'] = async (call, onText) => {
    const leave = await limiter.enter(call.signal)
    try {
      return await adapter.callAPI(call, onText)
    } finally {
      leave()
    }
  }
  return { adapter: { ...adapter, callAPI }, model }
}

/**
 * Whether an event waits for others that are stored together with it or not at all: the parts of a turn, a compaction's marker
 * and the conversation's new beginning, and the last words of an agent that ends itself.
 */
function isHeldBack(agent: Agent, event: DurableEvent, held: DurableEvent[]): boolean {
  if (agent.endingCall !== undefined) return true
  // Between a marker and the new beginning stands the configuration, which is a fact of its own anywhere else.
  if (event.type === 'session_config') return held.some(({ type }) => type === 'compact_marker')
  return event.type === 'assistant_text' || event.type === 'tool_call' || event.type === 'compact_marker'
}

/**
 * A configuration that is stored while a newer one is wanted does not settle that wish. After a compaction nothing is cached, so
 * an agent whose settings have changed takes the new ones.
 */
function withRequest({ taskId, isOutdated, takesConfig }: Agent, stored: DurableEvent[], ts: string): DurableEvent[] {
  const isCompacted = isOutdated && stored.some(({ type }) => type === 'compact_marker')
  const isConfigured = takesConfig && stored.some(({ type }) => type === 'session_config')
  if (!isCompacted && !isConfigured) return stored
  return [...stored, { type: 'config_requested', taskId, ts, by: takesConfig ? 'user' : 'compaction' }]
}

async function observeFact(ctx: ProjectContext, agent: Agent, event: DurableEvent): Promise<void> {
  const { taskId } = agent
  switch (event.type) {
    case 'tool_call':
      agent.callTimes.set(event.callId, event.ts)
      agent.doing = oneLine(displayToolCall(event))
      break
    case 'turn_completed':
      agent.model = event.model
      ctx.touch(taskId)
      break
    case 'clarification_requested':
      await openQuestion(ctx, event)
      break
    case 'error': {
      const { code, message, hint = '' } = event
      agent.problem = { code, message, hint }
      await noticeProblem(ctx, taskId, agent.problem, event.ts)
      break
    }
    case 'budget_exceeded':
      agent.problem = budgetProblem(event)
      await noticeProblem(ctx, taskId, agent.problem, event.ts)
      break
    case 'messages_consumed':
      ctx.touch(taskId)
      break
    case 'config_requested':
      if (commandsOf(ctx, taskId).length === 0) void interruptAgent(agent, 'refresh')
      break
    default:
  }
}

async function observeSignal(ctx: ProjectContext, agent: Agent, event: LiveEvent): Promise<void> {
  const { taskId } = agent
  ctx.emit({ kind: 'live', projectId: ctx.id, taskId, event })
  switch (event.type) {
    case 'agent_idle':
      agent.activity = agent.problem ? 'blocked' : 'waiting'
      agent.doing = undefined
      agent.callTimes.clear()
      await recordCost(ctx, taskId)
      await agent.tools?.runHooks?.('stop', { signal: agent.abort.signal })
      await agent.tools?.park()
      ctx.touch(taskId)
      void refreshAgent(ctx, agent)
      break
    case 'agent_active':
      agent.activity = 'working'
      agent.problem = undefined
      ctx.attention.removeOf(taskId, 'failure', 'budget')
      ctx.touch(taskId)
      await restoreWorktree(ctx, taskId)
      // While it waited, its sub tasks may have committed: their branches are in its sandbox too. What is wrong is said at its next call.
      await ctx.worktrees.sync(taskId).catch(() => undefined)
      break
    case 'usage':
      agent.contextTokens = event.contextTokens
      ctx.touch(taskId)
      break
    case 'status':
      agent.doing = event.text
      ctx.touch(taskId)
      break
    default:
  }
}

/** While an agent waited, somebody may have deleted the folder it works in; what was committed is still on its branch. */
async function restoreWorktree(ctx: ProjectContext, taskId: string): Promise<void> {
  const { worktreePath } = ctx.tree.get(taskId)
  if (worktreePath && !(await ctx.world.files.isDirectory(worktreePath))) await ensureWorktree(ctx, taskId)
}

/** The tree's own sum is only brought up to date when nothing else happens; the sessions know it at any time. */
export async function recordCost(ctx: ProjectContext, taskId: string): Promise<void> {
  const add = unrecorded(ctx.ledger.spent(taskId), ctx.tree.get(taskId))
  if (Object.values(add).some((more) => more > 0)) await recordTask(ctx.tree, taskId, { add })
}

async function conclude(ctx: ProjectContext, agent: Agent, result: AgentResult, held: DurableEvent[]): Promise<void> {
  const { taskId } = agent
  if (result.exitReason !== 'interrupted' && agent.endingCall !== undefined) {
    const success = result.exitReason === 'done_passed'
    const { output, turns } = result
    const { endingCall: callId, callTimes } = agent
    const calledAt = callTimes.get(callId) ?? ''
    return completeTask(ctx, taskId, { callId, calledAt, success, output, events: held, turns })
  }
  await ctx.log.append(taskId, held)
  await recordCost(ctx, taskId)
  if (keepsStopped(agent.stopReason)) return markStopped(ctx, taskId, agent.stopReason)
  if (agent.stopReason || ctx.isClosing) return
  if (agent.problem) ctx.halted.set(taskId, { kind: 'blocked', problem: agent.problem })
  else if (result.exitReason !== 'interrupted')
    // The session was at its end already; what follows from it is made again.
    await settleCompletion(ctx, taskId, { success: result.exitReason === 'done_passed', output: result.output })
  else await blockTask(ctx, taskId, new Error(result.output))
}

export function keepsStopped(reason: StopReason | undefined): reason is 'user' | 'reset' {
  return reason === 'user' || reason === 'reset'
}

/** Says in the session that somebody stopped its agent, so that it stays stopped after a restart. */
export async function markStopped(ctx: ProjectContext, taskId: string, reason: 'user' | 'reset'): Promise<void> {
  ctx.halted.set(taskId, { kind: 'stopped' })
  await ctx.log.append(taskId, [{ type: 'agent_stopped', taskId, ts: isoNow(ctx.world), reason }])
  ctx.touch(taskId)
}
