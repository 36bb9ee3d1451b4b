import { findOrphanedToolCalls, findPendingMessages } from '@matrix/event-store'
import {
  type DurableEvent,
  findUntrusted,
  isWaking,
  loopTools,
  MatrixError,
  mergeSources,
  type TaskNode,
} from '@matrix/protocol'
import { foldSession, isWaiting } from '@matrix/protocol/session'
import { createMessageQueue, executeTool, type Route, type ToolDefinition } from '@matrix/provider-loop'
import { recordTask } from '@matrix/task-tree'
import type { Agent, EventOf, StopReason } from './agent.ts'
import { openAgentServer } from './agent-tools/agent-server.ts'
import { createAgentTools, isRepeatable } from './agent-tools/agent-tools.ts'
import { messageIdOf } from './agent-tools/call-id.ts'
import { askForApproval } from './approvals.ts'
import { forgetCommands, noteBackgroundStart, reportLost } from './background.ts'
import { completeTask, type Done } from './completion.ts'
import { driveAgent, keepsStopped, markStopped } from './drive.ts'
import { checkCallFlow } from './flow-question.ts'
import { blockTask } from './halt.ts'
import { watchIdleness } from './idle-watch.ts'
import { agentsAbove, type ProjectContext, roleOf, taskAbove } from './project-context.ts'
import type { Ask } from './server-approval.ts'
import { awaitDecision, orAborted } from './setup/setup.ts'
import { describeEffect, runSetup } from './setup/setup-run.ts'
import { attachedSkills, skillLimits, tellHeader } from './skills/task-skills.ts'
import { budgetsOf } from './task-budgets.ts'
import { isoNow } from './world.ts'

/** What an agent needs to run: everything that had to be looked up, made or brought back. */
export type Launch = {
  task: TaskNode
  worktree: string
  events: DurableEvent[]
  routes: Route[]
  tools: ToolDefinition[]
}

/** Brings the agent of a task to life, or answers with the one that lives. It is known at once; its work begins a little later. */
export function launchAgent(ctx: ProjectContext, taskId: string): Agent {
  const living = ctx.agents.get(taskId)
  if (living) return living
  const agent: Agent = {
    taskId,
    queue: createMessageQueue(),
    abort: new AbortController(),
    activity: 'starting',
    doing: undefined,
    problem: undefined,
    model: undefined,
    contextTokens: undefined,
    contextWindow: undefined,
    tools: undefined,
    server: undefined,
    gitNote: undefined,
    idle: watchIdleness(ctx, taskId),
    stopReason: undefined,
    isOutdated: false,
    takesConfig: false,
    isHeldUp: false,
    endingCall: undefined,
    callTimes: new Map(),
    waitedMs: 0,
    repeated: new Set(),
    ended: Promise.resolve(),
  }
  ctx.agents.set(taskId, agent)
  ctx.tree.attachSession(taskId, agent)
  ctx.halted.delete(taskId)
  ctx.touch(taskId)
  agent.ended = live(ctx, agent)
  return agent
}

/** Interrupts an agent for real: the request in flight is cut, its tools are cancelled. */
export function interruptAgent(agent: Agent, reason: StopReason): Promise<void> {
  agent.stopReason ??= reason
  agent.queue.close()
  agent.abort.abort(new MatrixError('TOOL_CANCELLED', 'The agent was stopped.'))
  return agent.ended
}

async function live(ctx: ProjectContext, agent: Agent): Promise<void> {
  let isFinished = false
  try {
    const launch = await prepare(ctx, agent)
    if (launch) await driveAgent(ctx, agent, launch)
    isFinished = true
  } catch (error) {
    if (!agent.stopReason) await blockTask(ctx, agent.taskId, error)
    // They may have stopped it while the problem was written down.
    if (keepsStopped(agent.stopReason)) await markStopped(ctx, agent.taskId, agent.stopReason)
    // New settings may reach an agent that is starting: what it was started for still waits.
    isFinished = agent.stopReason === 'refresh'
  } finally {
    agent.idle.rest()
    await agent.tools?.close().catch(() => undefined)
    forgetCommands(ctx, agent.taskId)
    await agent.server?.close().catch(() => undefined)
    leave(ctx, agent)
  }
  // What arrived when nobody took messages any more is in the session, and deserves an agent that reads it.
  const goesOn =
    agent.stopReason === 'refresh' ? hasMore(ctx, agent.taskId) : !agent.stopReason && agent.queue.hasWaking()
  if (isFinished && goesOn && !ctx.isClosing) launchAgent(ctx, agent.taskId)
}

/** Whether a session has more to do than to wait: a message may have reached the agent just when it was put to sleep. */
function hasMore(ctx: ProjectContext, taskId: string): boolean {
  const { state } = ctx.facts.of(taskId)
  return state.pending.some(isWaking) || (!ctx.halted.has(taskId) && state.phase !== 'ended' && !isWaiting(state))
}

function leave(ctx: ProjectContext, agent: Agent): void {
  ctx.agents.delete(agent.taskId)
  ctx.tree.detachSession(agent.taskId)
  ctx.touch(agent.taskId)
}

/** Everything before the first word. Answers nothing when the session turns out to be at its end already. */
async function prepare(ctx: ProjectContext, agent: Agent): Promise<Launch | undefined> {
  const { taskId } = agent
  void ctx.store.reserve.refill().catch(() => undefined)
  await recordStart(ctx, taskId)
  const { path: worktree, note } = await ensureWorktree(ctx, taskId, agent.abort.signal)
  const task = ctx.tree.get(taskId)
  const routes = await ctx.routes(roleOf(task))
  const agents = agentsAbove(ctx, taskId)
  const ask: Ask = (request) =>
    askForApproval(ctx, ctx.tree.root().id, request, {
      signal: ctx.closing.signal,
      holdsUp: ({ isHeldUp }) => isHeldUp,
    })
  void ctx.tools.review?.(agents, ask)
  await awaitManifests(ctx, agent, agents, ask)
  const { skills: ofProject } = await ctx.settings()
  const ofManifests = (await ctx.tools.skillsOf?.(agents)) ?? []
  await ctx.skills.require([...ofProject, ...ofManifests, ...attachedSkills(ctx, taskId)])
  agent.tools = await ctx.tools.open({
    taskId,
    worktree,
    agents,
    skills: (named) => skillLimits(ctx, taskId, [...ofProject, ...named]),
    approve: (request, options) =>
      askForApproval(ctx, taskId, request, { ...options, holdsUp: (one) => one === agent }),
    flow: (tool, input) => checkCallFlow(ctx, taskId, tool, input),
    ask,
    onBackgroundStart: (callId, command) => noteBackgroundStart(ctx, agent, callId, command),
  })
  agent.server = openAgentServer(ctx, agent)
  const tools = await createAgentTools(ctx, agent, agent.server)

  await openSession(ctx, { task, worktree, routes, tools }, agent)
  if (note) await ctx.log.append(taskId, [{ type: 'notice', taskId, ts: isoNow(ctx.world), text: note }])
  await reportLost(ctx, taskId)
  const events = await ctx.log.readActive(taskId)
  await recordUntrusted(ctx, taskId, events)
  const repeated = await repeatOrphans(ctx, agent, events, tools)
  if (!repeated) return undefined
  for (const message of findPendingMessages(events)) agent.queue.enqueue(message)
  return { task, worktree, events: [...events, ...repeated], routes, tools }
}

/** The session has the last word on what is in it: a tree that was lost and brought back from a copy may not know. */
async function recordUntrusted(ctx: ProjectContext, taskId: string, events: DurableEvent[]): Promise<void> {
  const { untrusted: known = [] } = ctx.tree.get(taskId)
  const untrusted = mergeSources(known, findUntrusted(events))
  if (untrusted.length > known.length) await recordTask(ctx.tree, taskId, { untrusted })
}

/** A manifest that came with the repository is put before the user; the task waits for the answer and then starts. */
async function awaitManifests(
  ctx: ProjectContext,
  agent: Agent,
  agents: readonly (string | undefined)[],
  ask: Ask,
): Promise<void> {
  agent.isHeldUp = true
  try {
    await orAborted(ctx.tools.awaitAgents?.(agents, ask) ?? Promise.resolve(), agent.abort.signal)
  } finally {
    agent.isHeldUp = false
  }
}

async function recordStart(ctx: ProjectContext, taskId: string): Promise<void> {
  const { status } = ctx.tree.get(taskId)
  if (status !== 'in_progress') await recordTask(ctx.tree, taskId, { status: 'in_progress' })
  ctx.attention.removeOf(taskId, 'failure', 'review', 'conflict', 'budget')
}

/** The worktree of a task; that of the task above is made first, because the work starts from its branch. */
export async function ensureWorktree(
  ctx: ProjectContext,
  taskId: string,
  signal?: AbortSignal,
): Promise<{ path: string; note: string | undefined }> {
  const task = ctx.tree.get(taskId)
  const baseBranch = await ensureTarget(ctx, task, signal)
  // Asked before anything is made; a worktree that is there needs no answer.
  const isThere = (await ctx.worktrees.find(taskId)) !== undefined
  if (!isThere) await ctx.setup.checkIdentity()
  const decided = isThere ? undefined : await awaitDecision(ctx, signal)
  const { path, branch, setup } = await ctx.worktrees.create({
    taskId,
    title: task.title,
    baseBranch,
    ...(signal && { signal }),
    setUp: async (place) => runSetup(ctx, decided ?? (await awaitDecision(ctx, signal)), place, { signal }),
  })
  await ctx.tools.adopt(path)
  if (task.branch !== branch || task.worktreePath !== path) {
    await recordTask(ctx.tree, taskId, { branch, worktreePath: path })
    ctx.touch(taskId)
  }
  return { path, note: setup && describeEffect(setup) }
}

/** The branch that a task's work starts from and returns to: that of the task above, or the project's own. */
export async function ensureTarget(ctx: ProjectContext, task: TaskNode, signal?: AbortSignal): Promise<string> {
  const above = taskAbove(ctx, task.id)
  if (!above) {
    if (task.baseBranch) return task.baseBranch
    throw new MatrixError('PROJECT_UNUSABLE', 'The root task does not say which branch it works for')
  }
  if (above.branch) return above.branch
  await ensureWorktree(ctx, above.id, signal)
  return ctx.tree.get(above.id).branch ?? ''
}

/** A session that begins, or begins anew after a fork, is told first where it is and what it is for. */
async function openSession(
  ctx: ProjectContext,
  { task, worktree, routes, tools }: Omit<Launch, 'events'>,
  agent: Agent,
): Promise<void> {
  const { isStarted, hold } = foldSession(await ctx.log.readActive(task.id))
  const stamp = { taskId: task.id, ts: isoNow(ctx.world) }
  const started: DurableEvent = { type: 'orchestration_started', ...stamp, model: routes[0]?.model ?? '' }
  if (isStarted) {
    if (hold) await ctx.log.append(task.id, [started])
    return
  }
  const own = await agent.tools?.context?.(agent.abort.signal)
  const text = await tellHeader(ctx, { worktree, task, tools: tools.map(({ name }) => name), agent: own })
  await ctx.log.append(task.id, [
    started,
    {
      type: 'task_started',
      ...stamp,
      title: task.title,
      branch: task.branch ?? '',
      worktreePath: worktree,
      parentId: task.parentId,
      description: task.description,
      ...(task.agent !== undefined && { agent: task.agent }),
      ...(task.skills && { skills: task.skills }),
      ...budgetsOf(task),
    },
    { type: 'notice', ...stamp, text },
  ])
}

/**
 * Calls that a crash left without a result. Those that have the same effect however often they are made are made again, and
 * `done` after them; the loop tells the model that the outcome of the others is unknown. Answers nothing when the task is ended.
 */
async function repeatOrphans(
  ctx: ProjectContext,
  agent: Agent,
  events: DurableEvent[],
  tools: ToolDefinition[],
): Promise<DurableEvent[] | undefined> {
  const { taskId } = agent
  const calls = findOrphanedToolCalls(events).filter(({ invalidInput }) => invalidInput === undefined)
  const done = calls.find(({ name }) => name === loopTools.done)
  if (done && (await isEndTold(ctx, done))) {
    await completeTask(ctx, taskId, endOf(done))
    return undefined
  }
  const handlers = new Map(tools.map((tool) => [tool.name, tool]))
  const results: DurableEvent[] = []
  for (const call of [...calls.filter(({ name }) => isRepeatable(name)), ...(done ? [done] : [])]) {
    agent.callTimes.set(call.callId, call.ts)
    agent.repeated.add(call.callId)
    const extra = { toolCallId: call.callId, signal: agent.abort.signal }
    const input = call.input as Record<string, unknown>
    const { content, isError, origin, control } = await executeTool(call.name, input, handlers, extra)
    if (control?.kind === 'exit') {
      await completeTask(ctx, taskId, { ...endOf(call), events: results })
      return undefined
    }
    const stamp = { taskId, ts: isoNow(ctx.world), callId: call.callId }
    results.push({ type: 'tool_result', ...stamp, content, isError, ...(origin && { origin }) })
  }
  await ctx.log.append(taskId, results)
  return results
}

/** The task above heard of the end before the crash, so the call was accepted and is not checked again. */
async function isEndTold(ctx: ProjectContext, call: EventOf<'tool_call'>): Promise<boolean> {
  const above = taskAbove(ctx, call.taskId)
  return above !== undefined && ctx.log.hasMessage(above.id, messageIdOf(call))
}

function endOf({ callId, ts: calledAt, input }: EventOf<'tool_call'>): Done {
  const { status, summary: output } = input as { status: 'passed' | 'failed'; summary: string }
  return { callId, calledAt, success: status === 'passed', output, events: [], turns: 0 }
}
