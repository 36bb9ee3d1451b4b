import type { MatrixError } from '@matrix/protocol'
import type { Unfinished } from './git-folder-state.ts'

/** The state of git in the worktree of a task. */
export type GitStatus = {
  branch: string
  /** What is checked out instead of the task's branch: another branch, or null for a commit without one. */
  drift: { on: string | null } | undefined
  /** A rebase, merge or the like that has not ended. */
  unfinished: Unfinished | undefined
  /** Why commits that were made there are not on the task's branch. */
  refused: MatrixError | undefined
}
