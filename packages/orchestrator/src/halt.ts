import { MatrixError, queueMessage, readBudgetState, type TaskNode } from '@matrix/protocol'
import { formatSpending } from '@matrix/protocol/display'
import type { Problem } from '@matrix/protocol/http'
import type { EventOf } from './agent.ts'
import { deliverMessage } from './delivery.ts'
import type { ProjectContext } from './project-context.ts'
import { isoNow } from './world.ts'

export function problemOf(error: unknown): Problem {
  if (error instanceof MatrixError) return error.toJSON()
  const fault = new MatrixError('INTERNAL', error instanceof Error ? error.message : String(error))
  return fault.toJSON()
}

/** A budget that is used up, in the words of every other problem. */
export function budgetProblem(event: EventOf<'budget_exceeded'>): Problem {
  const { scope, kind, spent, limit } = readBudgetState(event)
  const whose = scope === 'task' ? 'The budget' : 'A budget of a task above'
  const shown = formatSpending(kind, spent, limit)
  return new MatrixError('BUDGET_EXCEEDED', `${whose} of ${shown.limit} is used up (${shown.spent})`).toJSON()
}

/** Says in the session why its agent cannot go on, and tells the task above, who would wait for it in vain. */
export async function blockTask(ctx: ProjectContext, taskId: string, error: unknown): Promise<void> {
  const problem = problemOf(error)
  hold(ctx, taskId, problem)
  const ts = isoNow(ctx.world)
  if (problem.code === 'STORAGE_FULL') await ctx.store.reserve.spend().catch(() => false)
  // Where the session itself cannot be written, the problem is only shown.
  await ctx.log.append(taskId, [{ type: 'error', taskId, ts, ...problem }]).catch(() => undefined)
  await noticeProblem(ctx, taskId, problem, ts)
}

/** Keeps a task from going on, and says why; its session, which may be what is wrong, is left alone. */
export function haltTask(ctx: ProjectContext, taskId: string, problem: Problem): void {
  const task = ctx.tree.find(taskId)
  if (!task) return
  hold(ctx, taskId, problem)
  showProblem(ctx, task, problem, isoNow(ctx.world))
}

/** Somebody has to let the task go on; but who only lacks room does so as soon as there is some. */
function hold(ctx: ProjectContext, taskId: string, problem: Problem): void {
  ctx.halted.set(taskId, { kind: 'blocked', problem })
  if (problem.code === 'STORAGE_FULL') ctx.room.begin()
}

/** Messages of one clause have no full stop; with something behind them they need one. */
function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`
}

/** Makes a problem known to the person and to the task above. */
export async function noticeProblem(ctx: ProjectContext, taskId: string, problem: Problem, ts: string): Promise<void> {
  const task = ctx.tree.find(taskId)
  if (!task) return
  showProblem(ctx, task, problem, ts)
  await tellTaskAbove(ctx, task, problem, ts)
}

/**
 * The nearest task above that runs would wait in vain for one that cannot go on; one that is stopped or blocked itself hears of it
 * only where none runs. A task that only lacks disk space resumes by itself.
 */
export async function tellTaskAbove(
  ctx: ProjectContext,
  { id: taskId, title }: TaskNode,
  problem: Problem,
  ts: string,
): Promise<void> {
  if (problem.code === 'STORAGE_FULL') return
  const above = ctx.tree.ancestors(taskId).filter(({ status, folder }) => status === 'in_progress' && !folder)
  const nearest = above.find(({ id }) => !ctx.halted.has(id)) ?? above[0]
  const id = `${taskId}/error/${ts}`
  const heard = await Promise.all(above.map((each) => ctx.log.hasMessage(each.id, id).catch(() => false)))
  if (!nearest || heard.includes(true)) return
  const message = queueMessage.taskMessage({
    id,
    fromTaskId: taskId,
    fromTitle: title,
    content: `[Matrix] This task cannot go on: ${problem.message} (${problem.code}) A person has been told.`,
  })
  await deliverMessage(ctx, nearest.id, message).catch(() => undefined)
}

/** Puts a problem before a person. */
export function showProblem(ctx: ProjectContext, { id, title }: TaskNode, problem: Problem, since: string): void {
  const kind = isAboutBudget(problem) ? 'budget' : 'failure'
  const text = `${sentence(problem.message)} ${problem.hint}`
  ctx.attention.add({ id: `${kind}:${id}`, kind, projectId: ctx.id, taskId: id, taskTitle: title, text, since })
  ctx.touch(id)
}

/** Whether another budget, or a price, lets the task resume. */
export function isAboutBudget({ code }: Pick<Problem, 'code'>): boolean {
  return code === 'BUDGET_EXCEEDED' || code === 'PRICE_UNKNOWN'
}
