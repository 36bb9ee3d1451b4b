import { findPendingMessages, findResumeState, type Repair, readPage } from '@matrix/event-store'
import { type DurableEvent, isWaking, MatrixError, type QueueMessage, type TaskNode } from '@matrix/protocol'
import type { Problem } from '@matrix/protocol/http'
import { foldSession } from '@matrix/protocol/session'
import { totalTokens } from '@matrix/provider-loop'
import { recordTask } from '@matrix/task-tree'
import type { EventOf } from './agent.ts'
import { reportLongLost, reportRecentlyLost } from './background.ts'
import { settleCompletion } from './completion.ts'
import { budgetProblem, haltTask, noticeProblem, problemOf, tellTaskAbove } from './halt.ts'
import { launchAgent } from './launch.ts'
import type { ProjectContext } from './project-context.ts'
import { askUnasked, findOpenQuestion, openQuestion } from './question.ts'
import { reviewTask } from './review-attention.ts'
import { tellOfRoom } from './room-watch.ts'
import { archiveOldSessions } from './session-retention.ts'
import { askForSetup, findDecision } from './setup/setup.ts'
import { deliverNotices, heedBudget, tidyClosed } from './tasks.ts'
import { isWaiting } from './waiting.ts'

export type ProjectResumed = { waiting: number; continued: number; ended: number; problems: string[] }

/** Brings a project back to where its sessions say it was. Each is judged alone, and those that only waited go on waiting. */
export async function resumeProject(ctx: ProjectContext): Promise<ProjectResumed> {
  const resumed: ProjectResumed = { waiting: 0, continued: 0, ended: 0, problems: [] }
  for (const recovered of await ctx.worktrees.recover())
    if ('failed' in recovered) resumed.problems.push(recovered.failed.message)
  loadCosts(ctx)

  const launched: string[] = []
  const waiting: string[] = []
  const unreadable: { task: TaskNode; problem: Problem }[] = []
  const tasks = ctx.tree.list().filter(({ folder }) => !folder)
  await settleSessions(ctx, tasks)
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
    if (verdict === 'waiting') waiting.push(task.id)
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
  void reportLongLost(ctx, waiting)
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

type Verdict = 'waiting' | 'continued' | 'ended'

async function judge(ctx: ProjectContext, task: TaskNode): Promise<Verdict> {
  const summary = ctx.store.index.findSession(task.id)
  if (!summary || summary.archive) {
    if (task.status === 'in_progress') await recordTask(ctx.tree, task.id, { status: 'pending' })
    return 'ended'
  }
  ctx.facts.load(task.id, { lastSeq: summary.lastSeq, lastAt: summary.lastAt })
  if (task.status === 'closed') return 'ended'
  // What ended, and heard nothing since, has nothing to go on with: its last line tells, and the rest need not be read.
  const end = task.status === 'in_progress' ? undefined : await readLastEnd(ctx, task.id)
  if (end) {
    await remind(ctx, task, end)
    return 'ended'
  }
  return judgeEvents(ctx, task, await ctx.log.readActive(task.id))
}

type End = EventOf<'orchestration_completed'>

async function readLastEnd(ctx: ProjectContext, taskId: string): Promise<End | undefined> {
  const { events } = await readPage(ctx.store, taskId, { limit: 1 })
  return events.map(({ event }) => event as DurableEvent).find(isEnd)
}

function isEnd(event: DurableEvent): event is End {
  return event.type === 'orchestration_completed'
}

async function judgeEvents(ctx: ProjectContext, task: TaskNode, events: DurableEvent[]): Promise<Verdict> {
  const state = findResumeState(events)
  const pending = findPendingMessages(events)
  ctx.facts.load(task.id, { lastSeq: ctx.facts.of(task.id).lastSeq, lastAt: ctx.facts.of(task.id).lastAt, pending })
  if (state === 'done') await repairEnd(ctx, task, events)
  const question = findOpenQuestion(events) ?? (await askUnasked(ctx, task.id, events))
  if (question && state !== 'done' && task.status === 'in_progress') await openQuestion(ctx, question)

  if (foldSession(events).hold) {
    if (task.status !== 'in_progress') return 'ended'
    ctx.halted.set(task.id, { kind: 'stopped' })
    return 'waiting'
  }
  const isHeard = wakes({ isDone: state === 'done', isAsking: question !== undefined && isWaiting(events) })
  if (pending.some(isHeard)) return 'continued'
  if (state === 'done' || task.status !== 'in_progress') {
    await remind(ctx, task, events.findLast(isEnd))
    return 'ended'
  }
  await reportRecentlyLost(ctx, task.id, events)
  if ([...ctx.facts.of(task.id).pending.values()].some(isHeard)) return 'continued'
  const last = events.findLast(({ type }) => !configures(type) && type !== 'message')
  if (last?.type === 'error' && last.code === 'STORAGE_FULL') {
    await tellOfRoom(ctx, task.id, { wake: false })
    return 'continued'
  }
  if (await isBlocked(ctx, task, last)) return 'waiting'
  return isWaiting(events) ? 'waiting' : 'continued'
}

function configures(type: DurableEvent['type']): boolean {
  return type === 'session_config' || type === 'config_requested'
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

/** Whether the last thing that happened was a problem that only a person can solve. */
async function isBlocked(ctx: ProjectContext, task: TaskNode, last: DurableEvent | undefined): Promise<boolean> {
  if (last?.type !== 'error' && last?.type !== 'budget_exceeded') return false
  const { code, message, hint = '' } = last.type === 'error' ? last : budgetProblem(last)
  ctx.halted.set(task.id, { kind: 'blocked', problem: { code, message, hint } })
  await noticeProblem(ctx, task.id, { code, message, hint }, last.ts)
  return true
}

/** The session says that the task has ended; the tree is brought to say the same. */
async function repairEnd(ctx: ProjectContext, task: TaskNode, events: DurableEvent[]): Promise<void> {
  if (task.status !== 'in_progress') return
  const end = events.findLast(isEnd)
  if (end) await settleCompletion(ctx, task.id, { success: end.exitReason === 'done_passed', output: end.output })
}

async function remind(ctx: ProjectContext, task: TaskNode, end: End | undefined): Promise<void> {
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
