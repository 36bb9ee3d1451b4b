import { lchown, lstat } from 'node:fs/promises'
import { findGit, type SandboxGit, sandboxEnvironment } from '@matrix/task-tree'
import { giveTree, resolveIdentity, type Sandbox, type Surroundings } from '@matrix/tool-manager'

type SandboxGitOptions = {
  sandbox: Sandbox
  directory: string
  /** What an agent's shell has around a worktree. */
  surroundings(worktree: string): Promise<Surroundings>
}

/** Git for what agents can write: in a sandbox that has their git directory, their worktree, and nothing else of the machine. */
export function createSandboxGit({ sandbox, directory, surroundings }: SandboxGitOptions): SandboxGit {
  const identity = resolveIdentity()
  return {
    directory,
    isOtherUser: identity !== undefined,
    async give(path) {
      if (!identity) return
      if ((await lstat(path)).isDirectory()) giveTree(path, identity)
      else await lchown(path, identity.uid, identity.gid)
    },
    startFenced: ({ args, env, cwd, writable, readable }) =>
      sandbox.spawn({
        program: findGit(),
        args,
        env,
        cwd,
        policy: {
          sideEffects: ['read'],
          writable,
          readable,
          programs: [findGit()],
          hasOwnRights: true,
          limits: { memoryBytes: Number.POSITIVE_INFINITY, fileBytes: 32 * 1024 ** 3, openFiles: 65_536 },
        },
      }),
    async start(run) {
      // Hooks are programs of the project: they find what an agent's shell finds, and write where it writes.
      const { env, ...around } = run.withHooks && run.worktree ? await surroundings(run.worktree) : { env: {} }
      return sandbox.spawn({
        program: '/bin/sh',
        args: ['-c', run.script, 'sh', ...(run.args ?? [])],
        env: { ...env, ...sandboxEnvironment(run) },
        cwd: run.withHooks ? run.worktree : run.gitDir,
        policy: {
          sideEffects: run.withHooks ? ['read', 'write', 'shell'] : ['read', 'shell'],
          worktree: run.worktree,
          readable: run.readable,
          writable: [run.gitDir],
          programs: [findGit()],
          isOffline: !run.withHooks,
          ...around,
        },
      })
    },
  }
}
