import type { Repair } from '@matrix/event-store'
import { isWaking, MatrixError, type QueueMessage, type TaskNode } from '@matrix/protocol'
import type { Problem } from '@matrix/protocol/http'
import { isWaiting, resumeStateOf, type SessionState } from '@matrix/protocol/session'
import { totalTokens } from '@matrix/provider-loop'
import { recordTask } from '@matrix/task-tree'
import { reportLost } from './background.ts'
import { settleCompletion } from './completion.ts'
import { budgetProblem, haltTask, noticeProblem, problemOf, tellTaskAbove } from './halt.ts'
import { launchAgent } from './launch.ts'
import type { ProjectContext } from './project-context.ts'
import { askUnasked, openQuestion } from './question.ts'
import { reviewTask } from './review-attention.ts'
import { tellOfRoom } from './room-watch.ts'
import { archiveOldSessions } from './session-retention.ts'
import { askForSetup, findDecision } from './setup/setup.ts'
import { deliverNotices, heedBudget, tidyClosed } from './tasks.ts'

export type ProjectResumed = { waiting: number; continued: number; ended: number; problems: string[] }

/** Brings a project back to where its sessions say it was. Each is judged alone, and those that only waited go on waiting. */
export async function resumeProject(ctx: ProjectContext): Promise<ProjectResumed> {
  const resumed: ProjectResumed = { waiting: 0, continued: 0, ended: 0, problems: [] }
  for (const recovered of await ctx.worktrees.recover())
    if ('failed' in recovered) resumed.problems.push(recovered.failed.message)
  loadCosts(ctx)

  const launched: string[] = []
  const unreadable: { task: TaskNode; problem: Problem }[] = []
  const tasks = ctx.tree.list().filter(({ folder }) => !folder)
  await settleSessions(ctx, tasks)
  for (const { id } of tasks) loadFacts(ctx, id)
  for (const task of tasks) {
    const verdict = await judge(ctx, task).catch((error) => {
      const problem = problemOf(error)
      resumed.problems.push(`${task.title}: ${problem.message}`)
      haltTask(ctx, task.id, problem)
      unreadable.push({ task, problem })
      return 'ended' as const
    })
    resumed[verdict] += 1
    if (verdict === 'continued') launched.push(task.id)
  }
  await tidyClosed(ctx).catch((error) => resumed.problems.push(problemOf(error).message))
  await deliverNotices(ctx)
  for (const { task, problem } of unreadable)
    await tellTaskAbove(ctx, task, problem, ctx.facts.of(task.id).lastAt ?? task.updatedAt)
  for (const taskId of launched) launchAgent(ctx, taskId)
  // Somebody may have raised a budget while nobody was there to hear of it.
  await ctx.settings()
  await heedBudget(ctx, ctx.tree.root().id)
  // Asked before anything is sent: the first message should not be the one that waits.
  if (!(await findDecision(ctx))) void askForSetup(ctx).catch(() => undefined)
  void archiveOldSessions(ctx).catch(() => undefined)
  return resumed
}

const AT_ONCE = 16

/** Whoever opens a session first waits for the disk to have all of it. Many wait together; judged is one after the other. */
async function settleSessions(ctx: ProjectContext, tasks: readonly TaskNode[]): Promise<void> {
  const left = tasks.filter(({ id, status }) => status !== 'closed' && ctx.store.index.findSession(id)).values()
  const settle = async () => {
    // What is wrong with one is said when it is judged.
    for (const { id } of left) await ctx.store.lastSeq(id).catch(() => undefined)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, settle))
}

/** Puts a damaged session right, as far as that is possible, and lets its task go on from there. */
export async function repairTask(ctx: ProjectContext, taskId: string): Promise<Repair | undefined> {
  const task = ctx.tree.get(taskId)
  if (ctx.agents.has(task.id)) throw new MatrixError('AGENT_BUSY', `Task ${task.id} is running`)
  const repair = await ctx.store.repairSession(task.id)
  if (!repair) return undefined
  await ctx.store.index.catchUp()
  loadFacts(ctx, task.id)
  ctx.halted.delete(task.id)
  ctx.attention.removeOf(task.id, 'failure')
  if ((await judge(ctx, task)) === 'continued') launchAgent(ctx, task.id)
  await deliverNotices(ctx)
  ctx.touch(task.id)
  return repair
}

/** Forked sessions carry what their source has spent; only a session's own turns are its own. */
function loadCosts(ctx: ProjectContext): void {
  for (const { task, session, ...cost } of ctx.store.index.costs(['task', 'session']))
    if (task !== undefined && task === session)
      ctx.ledger.load(task, {
        usd: cost.usd,
        tokens: totalTokens(cost),
        minutes: cost.workMs / 60_000,
        unpricedTurns: cost.unpricedTurns,
      })
}

/** Takes in what a session means, as the index knows it, so that nothing has to be read for it. */
function loadFacts(ctx: ProjectContext, taskId: string): void {
  const summary = ctx.store.index.findSession(taskId)
  if (!summary || summary.archive) return
  const { lastSeq, lastAt, state } = summary
  ctx.facts.load(taskId, { lastSeq, lastAt, state })
}

type Verdict = 'waiting' | 'continued' | 'ended'

async function judge(ctx: ProjectContext, task: TaskNode): Promise<Verdict> {
  const summary = ctx.store.index.findSession(task.id)
  if (!summary || summary.archive) {
    if (task.status === 'in_progress') await recordTask(ctx.tree, task.id, { status: 'pending' })
    return 'ended'
  }
  if (task.status === 'closed') return 'ended'
  // What is damaged is said now, and not when its agent wakes.
  if (summary.damage) for await (const _ of ctx.store.read(task.id));
  else if (task.status === 'in_progress') await ctx.log.readActive(task.id)
  else await ctx.store.lastSeq(task.id)
  return judgeState(ctx, task, ctx.facts.of(task.id).state)
}

async function judgeState(ctx: ProjectContext, task: TaskNode, state: SessionState): Promise<Verdict> {
  const isDone = resumeStateOf(state) === 'done'
  if (isDone) await repairEnd(ctx, task, state)
  const question = state.question ?? (await askUnasked(ctx, task.id))
  if (question && !isDone && task.status === 'in_progress') await openQuestion(ctx, question)

  if (state.hold) {
    if (task.status !== 'in_progress') return 'ended'
    ctx.halted.set(task.id, { kind: 'stopped' })
    return 'waiting'
  }
  const isHeard = wakes({ isDone, isAsking: question !== undefined && isWaiting(state) })
  if (state.pending.some(isHeard)) return 'continued'
  if (isDone || task.status !== 'in_progress') {
    await remind(ctx, task, state)
    return 'ended'
  }
  await reportLost(ctx, task.id)
  if (ctx.facts.of(task.id).state.pending.some(isHeard)) return 'continued'
  const { problem } = state
  if (problem?.type === 'error' && problem.code === 'STORAGE_FULL') {
    await tellOfRoom(ctx, task.id, { wake: false })
    return 'continued'
  }
  if (problem) await block(ctx, task, problem)
  return problem || isWaiting(state) ? 'waiting' : 'continued'
}

const news: ReadonlySet<QueueMessage['source']> = new Set(['tree_change', 'task_complete', 'background_complete'])

/**
 * Which messages are a reason to wake an agent again. Who has ended is not started for news, and who waits for a person's
 * answer hears together with it that a command has ended.
 */
function wakes({ isDone, isAsking }: { isDone: boolean; isAsking: boolean }): (message: QueueMessage) => boolean {
  return (message) =>
    isWaking(message) &&
    !(isDone && news.has(message.source)) &&
    !(isAsking && message.source === 'background_complete')
}

/** The last thing that happened was a problem that only a person can solve. */
async function block(ctx: ProjectContext, task: TaskNode, last: NonNullable<SessionState['problem']>): Promise<void> {
  const { code, message, hint = '' } = last.type === 'error' ? last : budgetProblem(last)
  ctx.halted.set(task.id, { kind: 'blocked', problem: { code, message, hint } })
  await noticeProblem(ctx, task.id, { code, message, hint }, last.ts)
}

/** The session says that the task has ended; the tree is brought to say the same. */
async function repairEnd(ctx: ProjectContext, task: TaskNode, { end }: SessionState): Promise<void> {
  if (task.status !== 'in_progress' || !end) return
  await settleCompletion(ctx, task.id, { success: end.exitReason === 'done_passed', output: end.output })
}

async function remind(ctx: ProjectContext, task: TaskNode, { end }: SessionState): Promise<void> {
  if (task.status === 'failed')
    ctx.attention.add({
      id: `failure:${task.id}`,
      kind: 'failure',
      projectId: ctx.id,
      taskId: task.id,
      taskTitle: task.title,
      text: end?.output || 'The task failed.',
      since: task.updatedAt,
    })
  // Asking git takes its time, and nobody has to wait for it.
  if (task.status === 'passed') void reviewTask(ctx, task.id).catch(() => undefined)
}
