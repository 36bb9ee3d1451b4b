import { type DurableEvent, isWaking, MatrixError, type Origin, type QueueMessage } from '@matrix/protocol'
import { launchAgent } from './launch.ts'
import type { ProjectContext } from './project-context.ts'
import { inTurn } from './turns.ts'
import { isoNow } from './world.ts'

export type DeliveryOptions = {
  /** Facts that are stored together with the message. */
  beside?: DurableEvent[]
  /** Whether an agent that does not run is launched for it; otherwise it reads the message when something else wakes it. */
  wake?: boolean
  /** Only a person's word lets a task go on that a person has stopped. */
  byPerson?: boolean
  /** Where the content came from, if the message itself does not tell. */
  origin?: Origin | undefined
}

/**
 * The only way a message reaches an agent: it is stored in the receiver's session, then queued if the agent runs, and else
 * the agent is launched, unless a person has stopped it. Whoever delivers the same message again, after a crash or a lost answer, changes nothing.
 */
export async function deliverMessage(
  ctx: ProjectContext,
  taskId: string,
  message: QueueMessage,
  { beside = [], wake = isWaking(message), byPerson = false, origin }: DeliveryOptions = {},
): Promise<void> {
  const task = ctx.tree.get(taskId)
  if (task.folder)
    throw new MatrixError('TASK_STATUS', `"${task.title}" is a folder, and nobody reads messages there`, {
      hint: 'Send it to a task inside the folder.',
    })
  if (task.status === 'closed' && wake)
    throw new MatrixError('TASK_STATUS', `Task ${task.id} is closed`, { hint: 'Reset it to let it start over.' })

  await inTurn(ctx.deliveries, task.id, async () => {
    const isKnown = await ctx.log.hasMessage(task.id, message.id)
    if (!isKnown) {
      const stamp = { taskId: task.id, ts: isoNow(ctx.world) }
      const event: DurableEvent = { type: 'message', ...stamp, message, ...(origin && { origin }) }
      await ctx.log.append(task.id, [...beside, event])
      ctx.agents.get(task.id)?.queue.enqueue(message)
      ctx.touch(task.id)
    }
    // What was read long ago wakes nobody when it is said again.
    const isUnread = !isKnown || ctx.facts.of(task.id).state.pending.some(({ id }) => id === message.id)
    const mayGoOn = byPerson || !isHeldByPerson(ctx, task.id)
    if (wake && isUnread && mayGoOn && !ctx.isClosing) launchAgent(ctx, task.id)
  })
}

/** Whether a person has stopped a task, and nobody has let it go on since. */
export function isHeldByPerson({ halted }: ProjectContext, taskId: string): boolean {
  return halted.get(taskId)?.kind === 'stopped'
}
