import { chmod } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { openWorktrees, type Worktree, type Worktrees, type WorktreesOptions } from '@matrix/task-tree'
import { type ScratchRepository, scratchRepository } from '@matrix/task-tree/testing'
import { giveTree, openSandbox, resolveIdentity, type Sandbox } from '@matrix/tool-manager'
import { monotonicFactory } from 'ulid'
import { gitSurroundings } from './git-surroundings.ts'
import { createSandboxGit } from './sandbox-git.ts'

export type GitStage = {
  scratch: ScratchRepository
  worktrees: Worktrees
  sandbox: Sandbox
  /** One more process that opens the same worktrees. */
  open(options?: Partial<WorktreesOptions>): Promise<Worktrees>
  task(title?: string, baseBranch?: string): Promise<StagedTask>
  close(): Promise<void>
}

export type StagedTask = Worktree & {
  gitDir: string
  /** Gives the files that git has written for Matrix to the user of the sandbox. */
  adopt(): void
  /** Runs a command as the agent of the task would, in its sandbox. Answers with all that it printed. */
  shell(command: string): Promise<{ code: number | null; output: string }>
  /** The same for one that has to succeed. */
  run(command: string): Promise<string>
  /** What the branch of the task holds in the user's repository. */
  log(): string[]
}

const newId = monotonicFactory()

type StageOptions = { scratch?: ScratchRepository; commitHooks?: 'skip' | 'run' }

/** A real repository with real worktrees, and shells in real sandboxes. */
export async function openGitStage({ scratch: given, commitHooks = 'skip' }: StageOptions = {}): Promise<GitStage> {
  const scratch = given ?? (await scratchRepository())
  await chmod(scratch.home, 0o755)
  const home = process.env.HOME
  process.env.HOME = scratch.home
  const sandbox = await openSandbox({ mode: 'required' })
  const directory = join(scratch.home, 'data/projects/p/worktrees')
  const git = createSandboxGit({ sandbox, directory: join(dirname(directory), 'git'), surroundings: gitSurroundings })
  const branchesFor = () => ['trunk']
  const open = (options: Partial<WorktreesOptions> = {}) =>
    openWorktrees({
      repository: scratch.checkout,
      directory,
      sandbox: git,
      branchesFor,
      commitHooks: async () => commitHooks,
      ...options,
    })
  const worktrees = await open()

  const shellIn = async (worktree: string, command: string) => {
    const { env, ...around } = await gitSurroundings(worktree)
    const running = await sandbox.spawn({
      program: '/bin/sh',
      args: ['-c', command],
      env: { ...env, LC_ALL: 'C.UTF-8', GIT_PAGER: 'cat' },
      policy: { sideEffects: ['read', 'write', 'shell'], worktree, ...around },
    })
    running.stdin.end()
    const [stdout, stderr, { code }] = await Promise.all([text(running.stdout), text(running.stderr), running.exited])
    return { code, output: (stdout + stderr).trim() }
  }

  return {
    scratch,
    worktrees,
    sandbox,
    open,
    async task(title = 'some task', baseBranch = 'trunk') {
      const worktree = await worktrees.create({ taskId: newId(), title, baseBranch })
      const identity = resolveIdentity()
      const adopt = () => identity && giveTree(worktree.path, identity)
      adopt()
      const shell = (command: string) => shellIn(worktree.path, command)
      return {
        ...worktree,
        gitDir: join(dirname(directory), 'git', worktree.taskId),
        shell,
        adopt,
        async run(command) {
          const { code, output } = await shell(command)
          if (code !== 0) throw new Error(`${command} ended with ${code}: ${output}`)
          return output
        },
        log: () => scratch.git('log', '--format=%s', worktree.branch).split('\n'),
      }
    },
    async close() {
      process.env.HOME = home
      await scratch.remove()
    },
  }
}
