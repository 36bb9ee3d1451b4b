import type { MatrixError } from '@matrix/protocol'
import type { Disk } from './disk.ts'
import type { GitStatus } from './git-status.ts'
import type { Repository } from './repository.ts'
import type { SandboxGit } from './sandbox-git.ts'
import type { Places } from './worktree-place.ts'

/** What creating and removing need. `metadata` runs one at a time what touches git's list of worktrees. */
export type WorktreeWork = {
  disk: Disk
  repository: Repository
  places: Places
  newId: () => string
  now: () => Date
  metadata<T>(work: () => Promise<T>): Promise<T>
  /** Lets a few worktrees be filled with files side by side. */
  filling<T>(work: () => Promise<T>): Promise<T>
  /** Absent where agents have no sandbox: then their git is the user's own. */
  sandbox: SandboxGit | undefined
  /** Branches that the agent of a task may see beside its own. */
  branchesFor: (taskId: string) => readonly string[]
  /** Where the hooks are that an agent's commits run, or an empty name. */
  hooks: () => Promise<string>
  /** What the agents' git directories said when they were last looked at. */
  seen: Map<string, { text: string; status: GitStatus }>
  /** Commits that were refused, so that the same ones are not checked again and again. */
  refusals: Map<string, { mine: string; theirs: string; error: MatrixError }>
}
