import { queueMessage } from '@matrix/protocol'
import { endId } from '@matrix/protocol/session'
import type { Agent } from './agent.ts'
import { deliverMessage } from './delivery.ts'
import { problemOf, showProblem } from './halt.ts'
import type { ProjectContext } from './project-context.ts'
import { refreshAgent } from './stop.ts'
import type { BackgroundCommand, BackgroundEnd } from './tool-host.ts'
import { isoNow } from './world.ts'

/** Takes in a command that an agent has left running, and answers with what is to be called when it ends. */
export function noteBackgroundStart(
  ctx: ProjectContext,
  agent: Agent,
  callId: string,
  command: BackgroundCommand,
): (end: BackgroundEnd) => void {
  const { taskId } = agent
  const id = endId({ taskId, callId, ts: agent.callTimes.get(callId) ?? '' })
  ctx.processes.set(id, { ...command, taskId, startedAt: isoNow(ctx.world) })
  return (end) => void deliverBackgroundEnd(ctx, taskId, id, end)
}

/** The ids of the commands that run for a task. */
export function commandsOf({ processes }: ProjectContext, taskId: string): string[] {
  return [...processes].flatMap(([id, command]) => (command.taskId === taskId ? [id] : []))
}

/** Commands end with the tools of the agent that started them. It is told when it is launched the next time. */
export function forgetCommands(ctx: ProjectContext, taskId: string): void {
  for (const id of commandsOf(ctx, taskId)) ctx.processes.delete(id)
}

/** Tells an agent that a command which it left running has ended. */
async function deliverBackgroundEnd(
  ctx: ProjectContext,
  taskId: string,
  id: string,
  { origin, ...end }: BackgroundEnd,
): Promise<void> {
  ctx.processes.delete(id)
  if (ctx.isClosing || !ctx.tree.find(taskId)) return
  ctx.endingProcesses.add(id)
  const task = ctx.tree.get(taskId)
  const agent = ctx.agents.get(taskId)
  if (agent) await refreshAgent(ctx, agent)
  const message = queueMessage.backgroundComplete({ id, ...end })
  // Nobody waits for this, so a person is told; and the agent, when it is launched the next time.
  await deliverMessage(ctx, taskId, message, { wake: task.status === 'in_progress', origin })
    .catch((error) => showProblem(ctx, task, problemOf(error), isoNow(ctx.world)))
    .finally(() => ctx.endingProcesses.delete(id))
}

/** Background commands end with the process that runs them. An agent that waits for one is told, or would wait for ever. */
export async function reportLost(ctx: ProjectContext, taskId: string): Promise<void> {
  for (const { id, processId, command } of ctx.facts.of(taskId).state.commands) {
    if (ctx.processes.has(id) || ctx.endingProcesses.has(id)) continue
    const output =
      'How it ended is not known: its agent was stopped, Matrix was started anew, or it could not be written down.'
    const message = queueMessage.backgroundComplete({ id, processId, command, exitCode: null, output })
    await deliverMessage(ctx, taskId, message, { wake: false })
  }
}
