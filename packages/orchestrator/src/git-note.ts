import type { Problem } from '@matrix/protocol/http'
import { drifted, type GitStatus } from '@matrix/task-tree'
import type { Agent } from './agent.ts'
import type { ProjectContext } from './project-context.ts'

/**
 * Takes over what a call may have committed, and says what the agent has to know about it. The same is not said twice in a row.
 * Asked after every call: where git has not moved, two small files are read and nothing else happens.
 */
export async function noticeGit(ctx: ProjectContext, agent: Agent): Promise<string | undefined> {
  const { worktrees } = ctx
  const { taskId } = agent
  const status = worktrees.hasMoved(taskId) ? await worktrees.sync(taskId) : worktrees.gitStatus(taskId)
  const problem = findGitProblem(status)
  const note = problem && `${problem.message}. ${problem.hint}`
  if (note === agent.gitNote) return undefined
  agent.gitNote = note
  ctx.touch(taskId)
  return note && `[matrix] ${note}`
}

/** What keeps commits of a worktree from its task's branch, or nothing. During a rebase or a bisect HEAD is elsewhere by intent. */
export function findGitProblem(status: GitStatus | undefined): Problem | undefined {
  const error = status?.refused ?? (status?.drift && !status.unfinished ? drifted(status) : undefined)
  return error && { code: error.code, message: error.message, hint: error.hint }
}
