import { builtinTools, type DurableEvent, queueMessage, type ToolContent } from '@matrix/protocol'
import type { Agent } from './agent.ts'
import { messageIdForCall, messageIdOf } from './agent-tools/call-id.ts'
import { deliverMessage, isHeldByPerson } from './delivery.ts'
import { haltTask, problemOf, showProblem } from './halt.ts'
import { launchAgent } from './launch.ts'
import type { ProjectContext } from './project-context.ts'
import { refreshAgent } from './stop.ts'
import type { BackgroundCommand, BackgroundEnd } from './tool-host.ts'
import { isoNow } from './world.ts'

/** The message that tells of the end of a command has an id that follows from the call which started it. */
const endOf = (startId: string) => `${startId}/ended`

/** Takes in a command that an agent has left running, and answers with what is to be called when it ends. */
export function noteBackgroundStart(
  ctx: ProjectContext,
  agent: Agent,
  callId: string,
  command: BackgroundCommand,
): (end: BackgroundEnd) => void {
  const { taskId } = agent
  const id = endOf(messageIdForCall(agent, callId))
  ctx.processes.set(id, { ...command, taskId, startedAt: isoNow(ctx.world) })
  return (end) => void deliverBackgroundEnd(ctx, taskId, id, end)
}

/** The ids of the commands that run for a task. */
export function commandsOf({ processes }: ProjectContext, taskId: string): string[] {
  return [...processes].flatMap(([id, command]) => (command.taskId === taskId ? [id] : []))
}

/** Commands end with the tools of the agent that started them. It is told when it is launched the next time. */
export function forgetCommands(ctx: ProjectContext, taskId: string): void {
  for (const id of commandsOf(ctx, taskId)) {
    ctx.processes.delete(id)
    ctx.searchedForLost.delete(taskId)
  }
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
  const task = ctx.tree.get(taskId)
  const agent = ctx.agents.get(taskId)
  if (agent) await refreshAgent(ctx, agent)
  const message = queueMessage.backgroundComplete({ id, ...end })
  await deliverMessage(ctx, taskId, message, { wake: task.status === 'in_progress', origin }).catch((error) => {
    // Nobody waits for this, so a person is told; and the agent, when it is launched the next time.
    ctx.searchedForLost.delete(taskId)
    showProblem(ctx, task, problemOf(error), isoNow(ctx.world))
  })
}

/**
 * Background commands end with the process that runs them. Whoever waits for one is told, or would wait for ever. What
 * was started since is known to run, so that a session is looked through once.
 */
export async function reportLostProcesses(ctx: ProjectContext, taskId: string): Promise<void> {
  if (ctx.searchedForLost.has(taskId)) return
  const commands = openCommands()
  for await (const batch of ctx.store.read(taskId))
    for (const { known, event } of batch) if (known) commands.take(event)
  await reportLost(ctx, taskId, commands.unended())
  ctx.searchedForLost.add(taskId)
}

/** The same for what a session has in mind; what it started before it was summed up takes longer to find. */
export async function reportRecentlyLost(
  ctx: ProjectContext,
  taskId: string,
  active: readonly DurableEvent[],
): Promise<void> {
  const commands = openCommands()
  for (const event of active) commands.take(event)
  await reportLost(ctx, taskId, commands.unended())
  if (!active.some(({ type }) => type === 'compact_marker')) ctx.searchedForLost.add(taskId)
}

/** Looks through what was said before a session was summed up, for which nobody has to wait, and wakes who waits in vain. */
export async function reportLongLost(ctx: ProjectContext, taskIds: readonly string[]): Promise<void> {
  for (const taskId of taskIds)
    if (!ctx.isClosing && !ctx.searchedForLost.has(taskId))
      await wakeForLost(ctx, taskId).catch((error) => {
        // A session that cannot be read is for a person, and no reason to look through no other.
        if (!ctx.isClosing) haltTask(ctx, taskId, problemOf(error))
      })
}

async function wakeForLost(ctx: ProjectContext, taskId: string): Promise<void> {
  const told = ctx.facts.of(taskId).pending.size
  await reportLostProcesses(ctx, taskId)
  const isAsking = ctx.attention.kindsOf(taskId).includes('question')
  const isAtWork = ctx.tree.get(taskId).status === 'in_progress' && !isHeldByPerson(ctx, taskId)
  if (ctx.facts.of(taskId).pending.size > told && !isAsking && isAtWork) launchAgent(ctx, taskId)
}

async function reportLost(ctx: ProjectContext, taskId: string, commands: readonly StartedCommand[]): Promise<void> {
  for (const { id, processId, command } of commands) {
    if (ctx.processes.has(id)) continue
    const output =
      'How it ended is not known: its agent was stopped, Matrix was started anew, or it could not be written down.'
    const message = queueMessage.backgroundComplete({ id, processId, command, exitCode: null, output })
    await deliverMessage(ctx, taskId, message, { wake: false })
  }
}

type StartedCommand = { id: string; processId: string; command: string }

/** The background commands that a session has started, and those of them whose end it was never told. */
function openCommands() {
  const asked = new Map<string, { id: string; command: string }>()
  const started = new Map<string, StartedCommand>()
  return {
    unended: () => [...started.values()],
    take(event: DurableEvent): void {
      if (event.type === 'tool_call' && event.name === builtinTools.bash) {
        const { command, background } = (event.input ?? {}) as { command?: unknown; background?: unknown }
        if (background === true) asked.set(event.callId, { id: endOf(messageIdOf(event)), command: String(command) })
      }
      if (event.type === 'message') started.delete(event.message.id)
      // What comes before was said in the session that this one was forked from, and runs for that one.
      if (event.type === 'fork_marker') started.clear()
      if (event.type !== 'tool_result' || event.isError) return
      const { callId, content } = event
      const call = asked.get(callId)
      const processId = readProcessId(content)
      if (call && processId) started.set(call.id, { ...call, processId })
    },
  }
}

/** The name that the shell gave to a command it left running, as far as a session tells. */
function readProcessId([first]: readonly ToolContent[]): string | undefined {
  return first?.type === 'text' ? /^Started in the background as (\S+)\.$/.exec(first.text)?.[1] : undefined
}
