import { builtinTools, type DurableEvent, queueMessage, type ToolContent } from '@matrix/protocol'
import { deliverMessage } from './delivery.ts'
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
  const wake = ctx.tree.get(taskId).status === 'in_progress' && ctx.halted.get(taskId)?.kind !== 'stopped'
  await deliverMessage(ctx, taskId, queueMessage.backgroundComplete({ id: messageId(taskId, callId), ...end }), {
    wake,
  })
}

/** Background commands end with the process that runs them. Whoever waits for one is told, or would wait for ever. */
export async function reportLostProcesses(ctx: ProjectContext, taskId: string): Promise<void> {
  const events = await ctx.log.readActive(taskId)
  for (const { callId, processId, command } of findStartedProcesses(events)) {
    const id = messageId(taskId, callId)
    if (ctx.processes.has(id) || (await ctx.log.hasMessage(taskId, id))) continue
    const output = 'It was ended because Matrix was started anew.'
    const message = queueMessage.backgroundComplete({ id, processId, command, exitCode: null, output })
    await deliverMessage(ctx, taskId, message, { wake: false })
  }
}

/** The background commands that a session has started, as far as it is still talked about. */
function findStartedProcesses(events: DurableEvent[]): { callId: string; processId: string; command: string }[] {
  const commands = new Map<string, string>()
  const found: { callId: string; processId: string; command: string }[] = []
  for (const event of events) {
    if (event.type === 'tool_call' && event.name === builtinTools.bash) {
      const { command, background } = (event.input ?? {}) as { command?: unknown; background?: unknown }
      if (background === true) commands.set(event.callId, String(command))
    }
    const command = event.type === 'tool_result' ? commands.get(event.callId) : undefined
    if (event.type !== 'tool_result' || command === undefined || event.isError) continue
    const processId = readProcessId(event.content)
    if (processId) found.push({ callId: event.callId, processId, command })
  }
  return found
}

/** The name that the shell gave to a command it left running, as far as a session tells. */
function readProcessId([first]: readonly ToolContent[]): string | undefined {
  return first?.type === 'text' ? /^Started in the background as (\S+)\.$/.exec(first.text)?.[1] : undefined
}
