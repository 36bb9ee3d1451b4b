import { MatrixError, type TaskNode } from '@matrix/protocol'
import type { ChangesView, MergeOutcome } from '@matrix/protocol/http'
import type { ChangesOptions, CommitOptions, Committed, MergeOptions } from '@matrix/task-tree'
import { findGitProblem } from './git-note.ts'
import { ensureTarget } from './launch.ts'
import { type ProjectContext, taskAbove } from './project-context.ts'
import { reviewTask } from './review-attention.ts'

/** The branch of a task and the one it returns to. */
async function branchesOf(ctx: ProjectContext, task: TaskNode): Promise<{ branch: string; baseBranch: string }> {
  if (!task.branch)
    throw new MatrixError('BRANCH_UNKNOWN', `Task ${task.id} "${task.title}" has not started yet`, {
      hint: 'Send it a message first.',
    })
  return { branch: task.branch, baseBranch: await ensureTarget(ctx, task) }
}

/** The branch of a task goes when it is closed, which is no fault of the repository. */
function explainClosed({ status, title }: TaskNode): (error: unknown) => never {
  return (error) => {
    if (status !== 'closed' || !(error instanceof MatrixError) || error.code !== 'BRANCH_UNKNOWN') throw error
    throw new MatrixError('BRANCH_UNKNOWN', `"${title}" is closed, and its branch is gone`, {
      hint: 'What was merged is in the history of the branch above it; what was not is kept: matrix snapshots.',
    })
  }
}

export async function readTaskChanges(
  ctx: ProjectContext,
  taskId: string,
  options: Omit<ChangesOptions, 'branch' | 'baseBranch'> = {},
): Promise<ChangesView> {
  const task = ctx.tree.get(taskId)
  const branches = await branchesOf(ctx, task)
  const changes = await ctx.worktrees.changes({ ...branches, ...options }).catch(explainClosed(task))
  const uncommitted = await ctx.worktrees.uncommitted(task.id)
  const problem = findGitProblem(ctx.worktrees.gitStatus(task.id))?.message ?? null
  const { untrusted = [] } = task
  return {
    branch: branches.branch,
    targetBranch: branches.baseBranch,
    ...changes,
    uncommitted,
    problem,
    ...(untrusted.length > 0 && { untrusted }),
  }
}

/** Merges a task into the branch it came from. Only a person merges the root, because its target is the user's own branch. */
export async function mergeTask(
  ctx: ProjectContext,
  taskId: string,
  options: Pick<MergeOptions, 'how' | 'message' | 'expectedHead' | 'updateCheckout' | 'acceptFlagged' | 'since'>,
): Promise<MergeOutcome> {
  const task = ctx.tree.get(taskId)
  const above = taskAbove(ctx, task.id)
  // The checkout of the task above is its worktree, which is ours to bring along.
  const updateCheckout = above ? true : options.updateCheckout === true
  const message = options.message ?? `Merge "${task.title}"`
  const result = await ctx.worktrees
    .merge({ ...(await branchesOf(ctx, task)), ...options, message, updateCheckout })
    .catch(explainClosed(task))
  if (above?.worktreePath) await ctx.tools.adopt(above.worktreePath)
  if (result.outcome !== 'conflict') ctx.attention.removeOf(task.id, 'review', 'conflict')
  if (above) await reviewTask(ctx, above.id).catch(() => undefined)
  ctx.touch(task.id)
  return result
}

export function commitWork(ctx: ProjectContext, options: CommitOptions): Promise<Committed> {
  return ctx.worktrees.commit(options)
}

/** Brings the target's commits into the branch of a task, in its worktree. */
export async function updateBranch(ctx: ProjectContext, taskId: string): Promise<MergeOutcome> {
  const task = ctx.tree.get(taskId)
  const result = await ctx.worktrees.update({ taskId, from: await ensureTarget(ctx, task) })
  if (task.worktreePath) await ctx.tools.adopt(task.worktreePath)
  return result
}
