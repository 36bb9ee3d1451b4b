import { MatrixError, printableLine, type TaskNode } from '@matrix/protocol'
import { markStopped } from './drive.ts'
import { interruptAgent, launchAgent } from './launch.ts'
import type { ProjectContext } from './project-context.ts'
import { isBusy } from './task-view.ts'

/** Interrupts a task and everything below it, at once. All stay in progress: they were interrupted, not broken. */
export async function stopAgents(ctx: ProjectContext, taskId: string): Promise<string[]> {
  const tasks = ctx.tree.subtree(taskId).filter(({ status, folder }) => status === 'in_progress' && !folder)
  const stopped = await Promise.all(
    tasks.map(async ({ id }) => {
      const agent = ctx.agents.get(id)
      if (agent) await interruptAgent(agent, 'user')
      else if (ctx.halted.get(id)?.kind !== 'stopped') await markStopped(ctx, id, 'user')
      else return undefined
      return id
    }),
  )
  return stopped.filter((id) => id !== undefined)
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
  const tasks = ctx.tree.subtree(taskId).filter(({ id, status }) => status === 'in_progress' && ctx.halted.has(id))
  for (const { id } of tasks) launchAgent(ctx, id)
  return tasks.map(({ id }) => id)
}

/** Puts agents that only wait to sleep, so that they wake with the settings and keys that hold by then. */
export async function refreshAgents(ctx: ProjectContext): Promise<void> {
  const idle = [...ctx.agents.values()].filter(({ activity }) => activity === 'waiting' || activity === 'blocked')
  await Promise.all(
    idle.map((agent) => {
      if (agent.problem) ctx.halted.set(agent.taskId, { kind: 'blocked', problem: agent.problem })
      return interruptAgent(agent, 'refresh')
    }),
  )
}
