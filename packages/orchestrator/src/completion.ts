import { type DurableEvent, queueMessage } from '@matrix/protocol'
import { recordTask } from '@matrix/task-tree'
import { messageIdOf } from './agent-tools/call-id.ts'
import { deliverMessage } from './delivery.ts'
import { unrecorded } from './ledger.ts'
import { type ProjectContext, taskAbove } from './project-context.ts'
import { reviewTask } from './review-attention.ts'
import { isoNow } from './world.ts'

/** How an agent ended itself, and what of it is not stored yet. */
export type Done = {
  callId: string
  /** When it was called, as its session says. */
  calledAt: string
  success: boolean
  output: string
  /** The last events of the run, which belong together with its end. */
  events: DurableEvent[]
  turns: number
}

/**
 * Ends a task as its agent said, in two phases: the task above hears of it first, then the end is stored. A crash in between
 * leaves the call open, and the end is made again from there; the message is known by its id.
 */
export async function completeTask(ctx: ProjectContext, taskId: string, done: Done): Promise<void> {
  const task = ctx.tree.get(taskId)
  const above = taskAbove(ctx, taskId)
  const costUsd = ctx.ledger.spent(taskId).usd
  if (above)
    await deliverMessage(
      ctx,
      above.id,
      queueMessage.taskComplete({
        id: messageIdOf({ taskId, callId: done.callId, ts: done.calledAt }),
        taskId,
        title: task.title,
        success: done.success,
        output: done.output,
        costUsd,
      }),
      // Someone who is no longer at work is not started for the news.
      { wake: above.status === 'in_progress' },
    )

  const stamp = { taskId, ts: isoNow(ctx.world) }
  const hasResult = done.events.some((event) => event.type === 'tool_result' && event.callId === done.callId)
  const result: DurableEvent = {
    type: 'tool_result',
    ...stamp,
    callId: done.callId,
    content: [{ type: 'text', text: 'The task is ended.' }],
    isError: false,
  }
  const exitReason = done.success ? 'done_passed' : 'done_failed'
  await ctx.log.append(taskId, [
    ...done.events,
    ...(hasResult ? [] : [result]),
    { type: 'orchestration_completed', ...stamp, exitReason, output: done.output, costUsd, turns: done.turns },
  ])
  await settleCompletion(ctx, taskId, done)
}

/** What follows from an end that is stored; made again at start, where a crash prevented it. */
export async function settleCompletion(
  ctx: ProjectContext,
  taskId: string,
  { success, output }: Pick<Done, 'success' | 'output'>,
): Promise<void> {
  const task = ctx.tree.get(taskId)
  const add = unrecorded(ctx.ledger.spent(taskId), task)
  await recordTask(ctx.tree, taskId, { status: success ? 'passed' : 'failed', add })
  ctx.attention.removeOf(taskId)
  if (!success)
    ctx.attention.add({
      id: `failure:${taskId}`,
      kind: 'failure',
      projectId: ctx.id,
      taskId,
      taskTitle: task.title,
      text: output,
      since: isoNow(ctx.world),
    })
  else await reviewTask(ctx, taskId)
  ctx.touch(taskId)
}
