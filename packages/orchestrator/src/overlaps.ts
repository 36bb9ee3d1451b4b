import type { TaskNode } from '@matrix/protocol'
import type { Overlap } from '@matrix/protocol/http'
import { type ProjectContext, taskAbove } from './project-context.ts'

/** Files that more than one live branch changes, before any of them is merged. */
export async function findOverlaps(ctx: ProjectContext): Promise<Overlap[]> {
  const live = ctx.tree.list().filter((task) => task.branch && task.status !== 'closed' && task.parentId !== null)
  const changed = await Promise.all(live.map(async (task) => ({ task, paths: await changedPaths(ctx, task) })))
  const byPath = new Map<string, TaskNode[]>()
  for (const { task, paths } of changed) for (const path of paths) byPath.set(path, [...(byPath.get(path) ?? []), task])

  const pairs = new Map<string, Promise<string[]>>()
  const conflictsOf = (a: TaskNode, b: TaskNode) => {
    const key = `${a.id} ${b.id}`
    const known = pairs.get(key) ?? conflictsBetween(ctx, a, b)
    pairs.set(key, known)
    return known
  }
  const shared = [...byPath].filter(([, tasks]) => tasks.length > 1)
  return Promise.all(
    shared.map(async ([path, tasks]): Promise<Overlap> => {
      const conflicts: [string, string][] = []
      for (const [index, a] of tasks.entries())
        for (const b of tasks.slice(index + 1))
          if ((await conflictsOf(a, b)).includes(path)) conflicts.push([a.id, b.id])
      return {
        path,
        conflicts,
        tasks: tasks.map(({ id, title, branch }) => ({ taskId: id, title, branch: branch ?? '' })),
      }
    }),
  )
}

async function changedPaths(ctx: ProjectContext, task: TaskNode): Promise<string[]> {
  const target = taskAbove(ctx, task.id)?.branch
  if (!task.branch || !target) return []
  const changes = await ctx.worktrees.changes({ branch: task.branch, baseBranch: target }).catch(() => undefined)
  return changes?.files.map(({ path }) => path) ?? []
}

async function conflictsBetween(ctx: ProjectContext, a: TaskNode, b: TaskNode): Promise<string[]> {
  if (!a.branch || !b.branch) return []
  const changes = await ctx.worktrees.changes({ branch: a.branch, baseBranch: b.branch }).catch(() => undefined)
  return changes?.conflicts ?? []
}
