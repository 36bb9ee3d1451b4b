import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

export type Outcome = { code: number; output: string }

const nodePrefix = dirname(dirname(process.execPath))
const env = {
  // With the headers that came with this Node, a native module compiles also where nodejs.org is out of reach.
  ...(existsSync(join(nodePrefix, 'include/node/node_api.h')) && { npm_config_nodedir: nodePrefix }),
  ...process.env,
}

/** Runs a program as a stranger's shell would, and hands back what it said, whether it succeeded or not. */
export function runCommand(command: string, args: string[], cwd: string): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
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
