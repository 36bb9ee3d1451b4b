import { plural } from '@matrix/protocol/display'
import { type ProjectContext, taskAbove } from './project-context.ts'
import { isoNow } from './world.ts'

/**
 * Puts finished work before a person, where nobody else will look at it: that of the root, and that of a task whose task
 * above is not at work.
 */
export async function reviewTask(ctx: ProjectContext, taskId: string): Promise<void> {
  const task = ctx.tree.get(taskId)
  const above = taskAbove(ctx, taskId)
  const target = above ? above.branch : task.baseBranch
  if (task.status !== 'passed' || above?.status === 'in_progress' || !task.branch || !target) return
  const changes = await ctx.worktrees.changes({ branch: task.branch, baseBranch: target }).catch(() => undefined)
  if (!changes || changes.ahead === 0) return
  const isClean = changes.conflicts.length === 0
  ctx.attention.add({
    id: `${isClean ? 'review' : 'conflict'}:${taskId}`,
    kind: isClean ? 'review' : 'conflict',
    projectId: ctx.id,
    taskId,
    taskTitle: task.title,
    text: isClean
      ? `${plural(changes.files.length, 'file')} changed (+${changes.additions} −${changes.deletions}), ready to be merged into ${target}.`
      : `The work conflicts with ${target}.`,
    since: isoNow(ctx.world),
    ...(!isClean && { files: changes.conflicts }),
  })
}
