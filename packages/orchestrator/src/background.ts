import { builtinTools, type DurableEvent, queueMessage, type ToolContent } from '@matrix/protocol'
import { deliverMessage } from './delivery.ts'
import { problemOf, showProblem } from './halt.ts'
import type { ProjectContext } from './project-context.ts'
import type { BackgroundCommand, BackgroundEnd } from './tool-host.ts'
import { isoNow } from './world.ts'

function messageId(taskId: string, callId: string): string {
  return `${taskId}/${callId}/ended`
}

export function noteBackgroundStart(
  ctx: ProjectContext,
  taskId: string,
  callId: string,
  command: BackgroundCommand,
): void {
  ctx.processes.set(messageId(taskId, callId), { ...command, taskId, startedAt: isoNow(ctx.world) })
}

/** Tells an agent that a command which it left running has ended. */
export async function deliverBackgroundEnd(
  ctx: ProjectContext,
  taskId: string,
  callId: string,
  end: BackgroundEnd,
): Promise<void> {
  ctx.processes.delete(messageId(taskId, callId))
  if (ctx.isClosing || !ctx.tree.find(taskId)) return
  const task = ctx.tree.get(taskId)
  const wake = task.status === 'in_progress' && ctx.halted.get(taskId)?.kind !== 'stopped'
  const message = queueMessage.backgroundComplete({ id: messageId(taskId, callId), ...end })
  await deliverMessage(ctx, taskId, message, { wake }).catch((error) => {
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
  for (const { callId, processId, command } of await findStartedProcesses(ctx, taskId)) {
    const id = messageId(taskId, callId)
    if (ctx.processes.has(id) || (await ctx.log.hasMessage(taskId, id))) continue
    const output = 'How it ended is not known: Matrix was started anew, or could not write it down.'
    const message = queueMessage.backgroundComplete({ id, processId, command, exitCode: null, output })
    await deliverMessage(ctx, taskId, message, { wake: false })
  }
  ctx.searchedForLost.add(taskId)
}

type StartedProcess = { callId: string; processId: string; command: string }

/** The background commands that a session has started, also before it was summed up: an agent waits for those as well. */
async function findStartedProcesses(ctx: ProjectContext, taskId: string): Promise<StartedProcess[]> {
  const started = collectStarted()
  const active = await ctx.log.readActive(taskId)
  if (active.some(({ type }) => type === 'compact_marker')) {
    for await (const batch of ctx.store.read(taskId))
      for (const { known, event } of batch) if (known) started.add(event)
  } else for (const event of active) started.add(event)
  return started.found
}

function collectStarted() {
  const commands = new Map<string, string>()
  const found: StartedProcess[] = []
  return {
    found,
    add(event: DurableEvent): void {
      if (event.type === 'tool_call' && event.name === builtinTools.bash) {
        const { command, background } = (event.input ?? {}) as { command?: unknown; background?: unknown }
        if (background === true) commands.set(event.callId, String(command))
      }
      if (event.type !== 'tool_result' || event.isError) return
      const command = commands.get(event.callId)
      const processId = readProcessId(event.content)
      if (command !== undefined && processId) found.push({ callId: event.callId, processId, command })
    },
  }
}

/** The name that the shell gave to a command it left running, as far as a session tells. */
function readProcessId([first]: readonly ToolContent[]): string | undefined {
  return first?.type === 'text' ? /^Started in the background as (\S+)\.$/.exec(first.text)?.[1] : undefined
}
