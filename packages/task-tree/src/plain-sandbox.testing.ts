import { spawn } from 'node:child_process'
import { type SandboxGit, sandboxEnvironment } from './sandbox-git.ts'

/** Git for agents without any isolation: for tests of what is done with it, where the sandbox itself is not in question. */
export function plainSandbox(directory: string): SandboxGit {
  return {
    directory,
    isOtherUser: false,
    give: async () => {},
    async start(run) {
      const child = spawn('/bin/sh', ['-c', run.script, 'sh', ...(run.args ?? [])], {
        cwd: run.gitDir,
        env: { PATH: process.env.PATH, HOME: '/nonexistent', ...sandboxEnvironment(run) },
        stdio: 'pipe',
      })
      child.stdin.on('error', () => {})
      const exited = new Promise<{ code: number | null }>((done) => child.once('exit', (code) => done({ code })))
      return {
        ...{ stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, exited },
        stop: async () => {
          child.kill('SIGKILL')
          await exited
        },
      }
    },
  }
}
