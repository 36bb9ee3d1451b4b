import type { BranchChanges, Worktree, Worktrees } from '@matrix/task-tree'

/** What a crash does not take away: branches and worktrees, and the marks that commands have left. */
export type Outside = {
  branches: Map<string, { files: Map<string, string>; commits: Commit[] }>
  worktrees: Map<string, { branch: string; files: Map<string, string> }>
  /** The id of the call and the task, once for each time that a command has run. */
  effects: { taskId: string; callId: string }[]
}

type Commit = { message: string; at: number; files: string[]; merged?: string }

/** One step of something outside: it takes its time, and the process may die before or after it has happened. */
export type Step = <T>(name: string, act: () => T) => Promise<T>

export function openOutside(): Outside {
  return { branches: new Map([['trunk', { files: new Map(), commits: [] }]]), worktrees: new Map(), effects: [] }
}

/** git, as far as a story needs it. Every operation happens whole or not at all. */
export function simulateWorktrees(outside: Outside, step: Step, now: () => number): Worktrees {
  const pathOf = (taskId: string) => `/worktrees/${taskId}`
  const branchOf = (name: string) => {
    const found = outside.branches.get(name)
    if (!found) throw new Error(`no branch ${name}`)
    return found
  }
  const worktreeOf = (taskId: string) => {
    const found = outside.worktrees.get(taskId)
    if (!found) throw new Error(`no worktree of ${taskId}`)
    return found
  }
  const view = (taskId: string, branch: string): Worktree => ({ taskId, path: pathOf(taskId), branch, commit: '1' })
  const uncommitted = (taskId: string) => {
    const { branch, files } = worktreeOf(taskId)
    return [...files.keys()].filter((path) => files.get(path) !== branchOf(branch).files.get(path))
  }
  const made = (commits: Commit[], message: string, since: Date | undefined) =>
    since && commits.findLastIndex((each) => each.message === message && each.at >= since.getTime())

  const known: Partial<Worktrees> = {
    create: ({ taskId, baseBranch }) =>
      step('git worktree add', () => {
        const existing = outside.worktrees.get(taskId)
        if (existing) return view(taskId, existing.branch)
        const branch = `mxd/${taskId}/work`
        const base = branchOf(baseBranch)
        outside.branches.set(branch, { files: new Map(base.files), commits: [...base.commits] })
        outside.worktrees.set(taskId, { branch, files: new Map(base.files) })
        return view(taskId, branch)
      }),
    find: (taskId) =>
      step('git find', () => {
        const existing = outside.worktrees.get(taskId)
        return existing && view(taskId, existing.branch)
      }),
    list: () =>
      step('git worktree list', () =>
        [...outside.worktrees].map(([taskId, { branch }]) => ({
          taskId,
          path: pathOf(taskId),
          branch,
          state: 'ready',
        })),
      ),
    commit: ({ taskId, message, since }) =>
      step('git commit', () => {
        const files = uncommitted(taskId)
        const worktree = worktreeOf(taskId)
        const branch = branchOf(worktree.branch)
        const earlier = made(branch.commits, message, since)
        if (files.length === 0 && earlier !== undefined && earlier >= 0)
          return { commit: `c${earlier}`, files: branch.commits[earlier]?.files ?? [] }
        if (files.length === 0) return { commit: undefined, files: [] }
        branch.files = new Map(worktree.files)
        branch.commits.push({ message, at: now(), files })
        return { commit: `c${branch.commits.length - 1}`, files }
      }),
    hasMoved: () => false,
    gitStatus: () => undefined,
    sync: async () => undefined,
    settle: async () => {},
    uncommitted: (taskId) => step('git status', () => uncommitted(taskId)),
    merge: ({ branch, baseBranch, message = '', since }) =>
      step('git merge', () => {
        const base = branchOf(baseBranch)
        const { files, commits } = branchOf(branch)
        const isIn = base.commits.some(({ merged }) => merged === `${branch}@${commits.length}`)
        const earlier = made(base.commits, message, since)
        if (isIn && earlier !== undefined && earlier >= 0) return { outcome: 'merged', commit: `c${earlier}` }
        if (isIn) return { outcome: 'nothing to merge' }
        for (const [path, text] of files) base.files.set(path, text)
        base.commits.push({ message, at: now(), files: [...files.keys()], merged: `${branch}@${commits.length}` })
        for (const worktree of outside.worktrees.values())
          if (worktree.branch === baseBranch) for (const [path, text] of files) worktree.files.set(path, text)
        return { outcome: 'merged', commit: `c${base.commits.length - 1}` }
      }),
    remove: ({ taskId, deleteBranch }) =>
      step('git worktree remove', () => {
        const found = outside.worktrees.get(taskId)
        outside.worktrees.delete(taskId)
        if (deleteBranch && found) outside.branches.delete(found.branch)
        return { snapshot: null }
      }),
    changes: () => step('git diff', () => noChanges),
    recover: () => step('git recover', () => []),
  }
  return known as Worktrees
}

const noChanges: BranchChanges = {
  base: '1',
  head: '1',
  mergeBase: '1',
  ahead: 0,
  behind: 0,
  files: [],
  additions: 0,
  deletions: 0,
  conflicts: [],
  flagged: [],
  isTruncated: false,
}
