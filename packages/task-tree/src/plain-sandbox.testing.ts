import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { findGit } from './git.ts'
import { type SandboxGit, type SandboxProcess, sandboxEnvironment } from './sandbox-git.ts'

/** Git for agents without any isolation: for tests of what is done with it, where the sandbox itself is not in question. */
export function plainSandbox(directory: string): SandboxGit {
  return {
    directory,
    isOtherUser: false,
    give: async () => {},
    startFenced: async ({ args, env, cwd }) => follow(spawn(findGit(), args, { cwd, env, stdio: 'pipe' })),
    async start(run) {
      return follow(
        spawn('/bin/sh', ['-c', run.script, 'sh', ...(run.args ?? [])], {
          cwd: run.gitDir,
          env: { PATH: process.env.PATH, HOME: '/nonexistent', ...sandboxEnvironment(run) },
          stdio: 'pipe',
        }),
      )
    },
  }
}

function follow(child: ChildProcessWithoutNullStreams): SandboxProcess {
  const { stdin, stdout, stderr } = child
  stdin.on('error', () => {})
  const exited = new Promise<{ code: number | null }>((done) => child.once('exit', (code) => done({ code })))
  return {
    ...{ stdin, stdout, stderr, exited },
    stop: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}
