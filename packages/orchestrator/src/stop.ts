import { type ErrorCode, MatrixError, printableLine, queueMessage, type TaskNode } from '@matrix/protocol'
import type { SessionConfiguration } from '@matrix/protocol/http'
import type { Agent } from './agent.ts'
import { commandsOf } from './background.ts'
import { readConfiguration } from './configuration.ts'
import { deliverMessage, isHeldByPerson } from './delivery.ts'
import { markStopped } from './drive.ts'
import { haltTask, problemOf } from './halt.ts'
import { interruptAgent, launchAgent } from './launch.ts'
import type { ProjectContext } from './project-context.ts'
import { isBusy } from './task-view.ts'
import { isoNow } from './world.ts'

/** Interrupts a task and everything below it, at once. All stay in progress: they were interrupted, not broken. */
export async function stopAgents(ctx: ProjectContext, taskId: string): Promise<string[]> {
  const tasks = ctx.tree.subtree(taskId).filter(({ status, folder }) => status === 'in_progress' && !folder)
  const stopped = await Promise.all(tasks.map(async ({ id }) => ((await stopAgent(ctx, id)) ? [id] : [])))
  return stopped.flat()
}

/** Answers whether there was anything to stop. */
async function stopAgent(ctx: ProjectContext, taskId: string): Promise<boolean> {
  const wasStopped = isHeldByPerson(ctx, taskId)
  // One that is just being put to sleep for another reason may wake again, or ends without a word about this one.
  for (let agent = ctx.agents.get(taskId); agent; agent = ctx.agents.get(taskId)) await interruptAgent(agent, 'user')
  if (!isHeldByPerson(ctx, taskId) && ctx.tree.find(taskId)?.status === 'in_progress')
    await markStopped(ctx, taskId, 'user')
  return !wasStopped
}

/** Puts agents to rest that only wait, are stopped or cannot go on. When one of them is at work, all are left alone. */
export async function retireAgents(ctx: ProjectContext, tasks: TaskNode[]): Promise<void> {
  refuseBusy(ctx, tasks)
  await Promise.all(
    tasks.map(async ({ id, status, folder }) => {
      const agent = ctx.agents.get(id)
      if (agent) await interruptAgent(agent, 'reset')
      else if (status === 'in_progress' && !folder) await markStopped(ctx, id, 'reset')
    }),
  )
}

export function refuseBusy(ctx: ProjectContext, tasks: TaskNode[]): void {
  const busy = tasks.find(({ id }) => isBusy(ctx.agents.get(id)?.activity ?? 'off'))
  if (!busy) return
  throw new MatrixError('AGENT_BUSY', `Task ${busy.id} "${printableLine(busy.title)}" is at work`, {
    hint: `Wait until it rests, or stop it with: matrix stop ${busy.id}`,
  })
}

/** Lets a task and everything below it go on where a person stopped them or a problem did. */
export async function resumeAgents(ctx: ProjectContext, taskId: string): Promise<string[]> {
  const isHeldUp = (id: string) => ctx.halted.has(id) || ctx.agents.get(id)?.problem !== undefined
  const tasks = ctx.tree.subtree(taskId).filter(({ id, status }) => status === 'in_progress' && isHeldUp(id))
  const resumed = await Promise.all(tasks.map(async ({ id }) => ((await letGoOn(ctx, id)) ? [id] : [])))
  return resumed.flat()
}

/** Answers whether it goes on: one that cannot even be told keeps nobody else from it. */
async function letGoOn(ctx: ProjectContext, taskId: string): Promise<boolean> {
  const letOne = isHeldByPerson(ctx, taskId) ? resumeStopped(ctx, taskId) : resumeProblem(ctx, taskId)
  return letOne.then(
    () => true,
    (error) => {
      haltTask(ctx, taskId, problemOf(error))
      return false
    },
  )
}

/** Stored first: what the user was told must survive a crash that comes before the agent's first event. */
async function resumeStopped(ctx: ProjectContext, taskId: string): Promise<void> {
  ctx.halted.delete(taskId)
  await ctx.log.append(taskId, [{ type: 'agent_resumed', taskId, ts: isoNow(ctx.world), by: 'user' }])
  // It may have been stopped again meanwhile.
  if (!ctx.halted.has(taskId) && !ctx.isClosing) launchAgent(ctx, taskId)
}

/** A session whose last word is a problem waits for another one. */
function resumeProblem(ctx: ProjectContext, taskId: string): Promise<void> {
  const words = { changedTaskId: taskId, summary: 'A person lets you go on. Try again what could not be done.' }
  return deliverMessage(ctx, taskId, queueMessage.treeChange({ id: `resume/${ctx.world.newId()}`, ...words }))
}

/** Resumes the tasks that one of these problems has blocked, once it is solved. What they have not read yet is reason enough. */
export async function resumeBlocked(ctx: ProjectContext, codes: readonly ErrorCode[]): Promise<void> {
  for (const [taskId, halt] of [...ctx.halted]) {
    const status = ctx.tree.find(taskId)?.status
    if (halt.kind !== 'blocked' || !codes.some((code) => code === halt.problem.code)) continue
    if (status === undefined || status === 'closed' || ctx.isClosing) continue
    if (ctx.facts.of(taskId).state.pending.length > 0) launchAgent(ctx, taskId)
    else await letGoOn(ctx, taskId)
  }
}

/** Has every agent take the settings and keys that hold by now, as soon as it can. */
export async function refreshAgents(ctx: ProjectContext): Promise<void> {
  const agents = [...ctx.agents.values()]
  for (const agent of agents) agent.isOutdated = true
  await Promise.all(agents.map((agent) => refreshAgent(ctx, agent)))
}

/**
 * Puts an agent whose settings have changed to sleep, so that it wakes with those that hold by then. Its commands in the background
 * would end with it: who waits for one is left to hear of its end first. Who cannot go on may need the change to do so.
 */
export async function refreshAgent(ctx: ProjectContext, agent: Agent): Promise<void> {
  const { taskId, activity, problem } = agent
  const isFree = activity === 'blocked' || (activity === 'waiting' && commandsOf(ctx, taskId).length === 0)
  if (!agent.isOutdated || !isFree) return
  if (problem) ctx.halted.set(taskId, { kind: 'blocked', problem })
  await interruptAgent(agent, 'refresh')
}

/**
 * Has a session take the configuration of now, with its conversation as it is. The request is stored first, so that it outlives
 * a crash; an agent that works takes it when it rests, or at once with `now`.
 */
export async function restartAgent(
  ctx: ProjectContext,
  taskId: string,
  { now }: { now: boolean },
): Promise<SessionConfiguration> {
  const task = ctx.tree.get(taskId)
  if (task.status === 'closed')
    throw new MatrixError('TASK_STATUS', `Task ${task.id} is closed`, { hint: 'Reset it to let it start over.' })
  const before = await readConfiguration(ctx, task.id)
  if (!before.current) return before
  const agent = ctx.agents.get(task.id)
  if (agent) agent.takesConfig = true
  await ctx.log.append(task.id, [{ type: 'config_requested', taskId: task.id, ts: isoNow(ctx.world), by: 'user' }])
  ctx.touch(task.id)
  if (!agent) return { ...before, isRequested: true }
  agent.isOutdated = true
  await refreshAgent(ctx, agent)
  if (now && ctx.agents.get(task.id) === agent) await interruptAgent(agent, 'refresh')
  return { ...before, isRequested: true }
}
