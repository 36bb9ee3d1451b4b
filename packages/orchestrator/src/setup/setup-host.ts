import type { SetupPlace } from '@matrix/task-tree'
import type { ProposedHost } from '../adapters/host-proposal.ts'
import type { ProjectFiles } from './project-files.ts'
import type { SetupDecisions } from './setup-decision.ts'

/** The script that a repository brings along, in the user's own checkout. */
export type RepositoryScript = {
  path: string
  /** Of the bytes as they lie there. */
  sha256: string
  /** Undefined where it is no script that can be run; `problem` says why. */
  text: string | undefined
  notes: string[]
}

export type SetupRun = {
  script: string
  sha256: string
  /** Of the user's checkout: what the script may read there. */
  files: readonly string[]
  place: SetupPlace
  timeoutMs: number
  signal?: AbortSignal | undefined
  onOutput(text: string): void
}

/** What the setup of one project needs of the machine. */
export type SetupHost = {
  decisions: SetupDecisions
  /** Undefined where the repository has none. */
  findScript(): Promise<RepositoryScript | undefined>
  /** Throws where git does not know in whose name agents commit. */
  checkIdentity(): Promise<unknown>
  files(): Promise<ProjectFiles>
  proposeHosts(): Promise<ProposedHost[]>
  sandbox(): { isActive: boolean; reason: string | null }
  /** Runs a script in a worktree, in the sandbox that the agent's shell has there. Throws when it fails. */
  run(run: SetupRun): Promise<void>
}
