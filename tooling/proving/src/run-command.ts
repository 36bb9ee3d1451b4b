import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'

type RunOptions = { cwd: string; env?: NodeJS.ProcessEnv; log?: string; timeoutMs?: number }
export type Run = { code: number | null; output: string; ms: number }

/** Runs a program without input. Its output comes back, and goes to `log` where one is given. */
export async function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  options: RunOptions,
): Promise<Run> {
  const { cwd, env, log, timeoutMs } = options
  const start = performance.now()
  // Its own process group, so that what a test leaves running ends with it.
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const file = log === undefined ? undefined : createWriteStream(log)
  const pieces: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      pieces.push(text)
      file?.write(text)
    })
  const endGroup = () => endProcessGroup(child.pid)
  const timer = timeoutMs === undefined ? undefined : setTimeout(endGroup, timeoutMs)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('exit', endGroup).on('close', resolve)
  }).finally(() => clearTimeout(timer))
  if (file) await finished(file.end())
  return { code, output: pieces.join(''), ms: performance.now() - start }
}

/** The same, and fails unless the program ends well. */
export async function expectProgram(command: readonly [string, ...string[]], options: RunOptions): Promise<string> {
  const { code, output } = await runProgram(command, options)
  if (code === 0) return output
  throw new Error(`${command.join(' ')} ended with ${code}:\n${output.slice(-3000)}`)
}

function endProcessGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
