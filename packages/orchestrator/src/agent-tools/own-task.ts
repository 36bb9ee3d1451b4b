import { MatrixError, type TaskNode } from '@matrix/protocol'
import type { Agent } from '../agent.ts'
import type { ProjectContext } from '../project-context.ts'

/** An agent changes, and reads the conversation of, its own task and those below it, and no other. */
export function requireOwn(ctx: ProjectContext, agent: Agent, id: string): TaskNode {
  const task = ctx.tree.get(id)
  const isOwn = task.id === agent.taskId || ctx.tree.ancestors(task.id).some((above) => above.id === agent.taskId)
  if (isOwn) return task
  throw new MatrixError('AUTHORIZATION_DENIED', `"${task.title}" is not one of your sub tasks`, {
    hint: 'Send a message to the task that it belongs to.',
  })
}

export function requireBelow(ctx: ProjectContext, agent: Agent, id: string): TaskNode {
  const task = requireOwn(ctx, agent, id)
  if (task.id !== agent.taskId) return task
  throw new MatrixError('AUTHORIZATION_DENIED', 'This is your own task', { hint: 'End it with done.' })
}
