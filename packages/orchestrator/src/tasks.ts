import {
  budgetKinds,
  canFollow,
  type EditedBy,
  everyBudgetKind,
  MatrixError,
  queueMessage,
  type TaskNode,
} from '@matrix/protocol'
import { foldSession } from '@matrix/protocol/session'
import {
  acknowledgeNotice,
  checkEnding,
  closeTask as closeInTree,
  createTask as createInTree,
  deleteTask as deleteFromTree,
  recordTask,
  reorderTasks as reorderInTree,
  resetTask as resetInTree,
  type TaskEdit,
  type TaskInput,
  updateTask as updateInTree,
} from '@matrix/task-tree'
import { deliverMessage } from './delivery.ts'
import { markStopped, recordCost } from './drive.ts'
import { isAboutBudget, problemOf, showProblem } from './halt.ts'
import { agentsAbove, type ProjectContext, roleOf } from './project-context.ts'
import { archiveOldSessions } from './session-retention.ts'
import { refreshAgent, refuseBusy, retireAgents } from './stop.ts'
import { inTurn } from './turns.ts'
import { isoNow } from './world.ts'

/** Who asks, and with which call, so that the same call made again after a crash is recognised. */
export type Asker = { editedBy: EditedBy }

export async function createTask(
  ctx: ProjectContext,
  parentId: string,
  input: TaskInput,
  { editedBy }: Asker,
): Promise<TaskNode> {
  const known = input.id === undefined ? undefined : ctx.tree.find(input.id)
  if (known) return known
  if (input.skills) await ctx.skills.require(input.skills)
  if (input.agent !== undefined) await ctx.tools.checkAgent?.([input.agent, ...agentsAbove(ctx, parentId)])
  const { maxDepth } = await ctx.settings()
  const task = await createInTree(ctx.tree, parentId, input, { editedBy, maxDepth })
  return changed(ctx, task)
}

/** For a new status, an agent that only waits, is stopped or cannot go on is interrupted for good; one at work says itself how that ends. */
export async function updateTask(
  ctx: ProjectContext,
  taskId: string,
  edit: TaskEdit,
  { editedBy }: Asker,
): Promise<TaskNode> {
  if (edit.status !== undefined) await settled(ctx, taskId)
  const before = ctx.tree.get(taskId)
  const { status = before.status } = edit
  const isMoved = status !== before.status
  if (isMoved && status === 'closed') return closeEdited(ctx, before, edit, { editedBy })
  if (isMoved && canFollow(before.status, status)) await retireAgents(ctx, [before])
  if (edit.skills) await ctx.skills.require(edit.skills)
  const { maxDepth } = await ctx.settings()
  const task = await updateInTree(ctx.tree, taskId, edit, { editedBy, maxDepth })
  if (isMoved) forgetWaits(ctx, [task])
  if (everyBudgetKind.some((kind) => before[budgetKinds[kind].budget] !== task[budgetKinds[kind].budget]))
    await heedBudget(ctx, task.id)
  return changed(ctx, task)
}

/** Has a task work by another agent. It may do no more than the tasks above, as when it was made. */
export async function chooseAgent(ctx: ProjectContext, { id }: TaskNode, agent: string): Promise<void> {
  await ctx.tools.checkAgent?.([agent, ...agentsAbove(ctx, id).slice(1)])
  await recordTask(ctx.tree, id, { agent })
  const running = ctx.agents.get(id)
  if (running) running.isOutdated = true
  if (running) await refreshAgent(ctx, running)
  ctx.touch(id)
}

async function closeEdited(
  ctx: ProjectContext,
  { id }: TaskNode,
  { status: _closed, ...edit }: TaskEdit,
  asker: Asker,
): Promise<TaskNode> {
  refuseBusy(ctx, ctx.tree.subtree(id))
  if (Object.keys(edit).length > 0) await updateTask(ctx, id, edit, asker)
  return closeTask(ctx, id, asker)
}

/** Agents that wait for a budget look again, and those that one had stopped resume where they have enough now. */
export async function heedBudget(ctx: ProjectContext, changedTaskId: string): Promise<void> {
  ctx.ledger.recheck()
  for (const task of ctx.tree.subtree(changedTaskId)) {
    const code = ctx.agents.get(task.id)?.problem?.code ?? haltCode(ctx, task.id)
    if (code === undefined || !isAboutBudget({ code }) || !(await hasEnough(ctx, task))) continue
    const summary = 'The budget was raised. Go on.'
    const messageId = `budget/${ctx.world.newId()}`
    await deliverMessage(ctx, task.id, queueMessage.treeChange({ id: messageId, changedTaskId, summary }))
  }
}

/** Whether no budget is used up, and none is in dollars that cannot be counted. */
async function hasEnough(ctx: ProjectContext, task: TaskNode): Promise<boolean> {
  if (ctx.ledger.isUsedUp(task.id)) return false
  if (!ctx.ledger.hasDollarBudget(task.id)) return true
  const [route] = await ctx.routes(roleOf(task)).catch(() => [])
  return route !== undefined && (await route.adapter.getModelPricing(route.model)) !== undefined
}

function haltCode(ctx: ProjectContext, taskId: string): string | undefined {
  const halt = ctx.halted.get(taskId)
  return halt?.kind === 'blocked' ? halt.problem.code : undefined
}

/** Ends a task for good. Its worktree goes, and whatever was not merged is kept as a snapshot. */
export async function closeTask(ctx: ProjectContext, taskId: string, { editedBy }: Asker): Promise<TaskNode> {
  await settled(ctx, taskId)
  const before = ctx.tree.get(taskId)
  if (before.status === 'closed') {
    // A crash may have come between the end of the task and that of its worktree.
    await tidyUp(ctx, before, { archive: false })
    return before
  }
  const rested = await putToRest(ctx, before, 'closed')
  const closed = await inTurn(ctx.deliveries, taskId, async () => {
    const { task, session } = await closeInTree(ctx.tree, taskId, { editedBy })
    forgetWaits(ctx, rested)
    await tidyUp(ctx, before, { archive: session === 'discard' })
    return task
  })
  void archiveOldSessions(ctx).catch(() => undefined)
  return changed(ctx, closed)
}

/** Brings a task back to its beginning. Its conversation is archived and its worktree removed; nothing is lost. */
export async function resetTask(ctx: ProjectContext, taskId: string, { editedBy }: Asker): Promise<TaskNode> {
  await settled(ctx, taskId)
  const rested = await putToRest(ctx, ctx.tree.get(taskId), 'reset')
  const fresh = await inTurn(ctx.deliveries, taskId, async () => {
    const { task, before } = await resetInTree(ctx.tree, taskId, { editedBy })
    forgetWaits(ctx, rested)
    await tidyUp(ctx, before, { archive: true })
    return task
  })
  return changed(ctx, fresh)
}

export async function deleteTask(ctx: ProjectContext, taskId: string, { editedBy }: Asker): Promise<void> {
  await settled(ctx, taskId)
  await putToRest(ctx, ctx.tree.get(taskId), 'deleted')
  const above = ctx.tree.ancestors(taskId)
  // What the tree knows of their cost is all that is left of it for the tasks above.
  for (const { id } of ctx.tree.subtree(taskId)) await recordCost(ctx, id)
  const removed = await deleteFromTree(ctx.tree, taskId, { editedBy })
  forgetWaits(ctx, removed)
  for (const task of removed) {
    await tidyUp(ctx, task, { archive: true })
    ctx.emit({ kind: 'task_removed', projectId: ctx.id, taskId: task.id })
  }
  for (const { id } of above) ctx.touch(id)
  await deliverNotices(ctx)
}

/** Has nobody work any more on a task and what is below it. Answers with the task and those who were at it. */
async function putToRest(
  ctx: ProjectContext,
  task: TaskNode,
  verb: 'closed' | 'deleted' | 'reset',
): Promise<TaskNode[]> {
  checkEnding(task, verb)
  const tasks = ctx.tree.subtree(task.id)
  await retireAgents(ctx, tasks)
  return tasks.filter(({ id, status }) => id === task.id || status === 'in_progress')
}

/** Nothing waits for a person, or for another message, because of these tasks. */
function forgetWaits(ctx: ProjectContext, tasks: TaskNode[]): void {
  for (const { id } of tasks) {
    ctx.attention.removeOf(id)
    ctx.halted.delete(id)
    ctx.touch(id)
  }
}

export async function reorderTasks(
  ctx: ProjectContext,
  parentId: string,
  children: string[],
  { editedBy }: Asker,
): Promise<TaskNode> {
  return changed(ctx, await reorderInTree(ctx.tree, parentId, children, { editedBy }))
}

/** An agent that has said "done" may still be writing it down. */
async function settled(ctx: ProjectContext, taskId: string): Promise<void> {
  for (const { id } of ctx.tree.subtree(taskId)) {
    const agent = ctx.agents.get(id)
    if (agent?.endingCall !== undefined) await agent.ended
  }
}

/** Removes the worktrees of closed tasks that a crash has left behind. */
export async function tidyClosed(ctx: ProjectContext): Promise<void> {
  const closed = ctx.tree.list().filter(({ status }) => status === 'closed')
  if (closed.length === 0) return
  const left = new Set((await ctx.worktrees.list()).map(({ taskId }) => taskId))
  for (const task of closed) if (left.has(task.id)) await tidyUp(ctx, task, { archive: false })
}

async function tidyUp(ctx: ProjectContext, task: TaskNode, { archive }: { archive: boolean }): Promise<void> {
  const known = await ctx.worktrees.find(task.id)
  const above = ctx.tree.find(task.id) ? ctx.tree.ancestors(task.id).find(({ folder }) => !folder) : undefined
  const baseBranch = above?.branch ?? ctx.tree.root().branch ?? ctx.tree.root().baseBranch
  if (known && baseBranch) await ctx.worktrees.remove({ taskId: task.id, deleteBranch: true, baseBranch })
  if (!archive || ctx.facts.of(task.id).lastSeq === 0) return
  await ctx.log.release(task.id, (fence) => ctx.store.archiveSession(task.id, fence))
  ctx.facts.forget(task.id)
}

async function changed(ctx: ProjectContext, task: TaskNode): Promise<TaskNode> {
  ctx.touch(task.id)
  for (const { id } of ctx.tree.ancestors(task.id)) ctx.touch(id)
  await deliverNotices(ctx)
  return task
}

/** Tells the tasks above what a user changed, with their next message: a change of the tree is worth no turn of its own. */
export async function deliverNotices(ctx: ProjectContext): Promise<void> {
  for (const { id, changedTaskId, summary, ancestors } of ctx.tree.notices()) {
    let isTold = true
    for (const ancestorId of ancestors) {
      const ancestor = ctx.tree.find(ancestorId)
      if (ancestor?.status !== 'in_progress') continue
      const message = queueMessage.treeChange({ id, changedTaskId, summary, quiet: true })
      await deliverMessage(ctx, ancestorId, message).catch((error) => {
        // The change is made all the same. Who cannot be told now is told when notices are delivered the next time.
        isTold = false
        showProblem(ctx, ancestor, problemOf(error), isoNow(ctx.world))
      })
    }
    if (isTold) await acknowledgeNotice(ctx.tree, id)
  }
}

/**
 * Lets a task that does not run go on from an earlier event of its conversation. What came after stays in the session, and
 * what was spent stays spent; files are not touched. It waits for a message or for being resumed.
 */
export async function rewindTask(ctx: ProjectContext, taskId: string, upTo: number): Promise<TaskNode> {
  const task = ctx.tree.get(taskId)
  if (task.status === 'closed') throw new MatrixError('TASK_STATUS', `Task ${task.id} is closed`)
  await settled(ctx, task.id)
  const last = await ctx.store.lastSeq(task.id)
  if (upTo > last)
    throw new MatrixError('EVENT_UNKNOWN', `Task ${task.id} has no event ${upTo}; its last one is ${last}.`)
  await inTurn(ctx.deliveries, task.id, async () => {
    if (ctx.agents.has(task.id)) throw new MatrixError('AGENT_BUSY', `Task ${task.id} is running`)
    await ctx.log.append(task.id, [{ type: 'rewind_marker', taskId: task.id, ts: isoNow(ctx.world), upTo }])
  })
  ctx.attention.removeOf(task.id)
  if (task.status === 'in_progress') await markStopped(ctx, task.id, 'user')
  return changed(ctx, task)
}

/** Gives an unstarted task what another one knows, or knew when `upTo` was its last event. */
export async function forkTask(
  ctx: ProjectContext,
  sourceId: string,
  targetId: string,
  { upTo }: { upTo?: number | undefined } = {},
): Promise<TaskNode> {
  const source = ctx.tree.get(sourceId)
  const target = ctx.tree.get(targetId)
  if (source.id === target.id) throw new MatrixError('TASK_INVALID', 'A task cannot be forked onto itself')
  if (ctx.agents.has(target.id)) throw new MatrixError('AGENT_BUSY', `Task ${target.id} is running`)
  const isForked = (await ctx.log.readActive(target.id)).some(
    (event) =>
      event.type === 'fork_marker' &&
      event.sourceTaskId === source.id &&
      event.taskId === target.id &&
      (upTo === undefined || event.sourceSeq === upTo),
  )
  if (!isForked) {
    const skills = [...new Set([...(source.skills ?? []), ...(target.skills ?? [])])]
    if (skills.length > 0) await recordTask(ctx.tree, target.id, { skills })
    if (source.untrusted?.length) await recordTask(ctx.tree, target.id, { untrusted: source.untrusted })
    const { title, description, worktreePath } = target
    const marker = {
      taskId: target.id,
      ts: isoNow(ctx.world),
      title,
      description,
      worktreePath,
    }
    const seq = await ctx.store.copySessionFrom(source.id, target.id, await ctx.log.fence(target.id), marker, { upTo })
    const state = foldSession(await ctx.log.readActive(target.id))
    ctx.facts.load(target.id, { lastSeq: seq, lastAt: marker.ts, state })
  }
  return changed(ctx, ctx.tree.get(target.id))
}
