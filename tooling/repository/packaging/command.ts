import { execFile } from 'node:child_process'

export type Outcome = { code: number; output: string }

/** Runs a program as a stranger's shell would, and hands back what it said, whether it succeeded or not. */
export function runCommand(command: string, args: string[], cwd: string): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : error ? 1 : 0
      resolve({ code, output: `${stdout}${stderr}` })
    })
  })
}

/** The same for what must succeed. */
export async function mustRun(command: string, args: string[], cwd: string): Promise<string> {
  const { code, output } = await runCommand(command, args, cwd)
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed with ${code}:\n${output}`)
  return output
}
