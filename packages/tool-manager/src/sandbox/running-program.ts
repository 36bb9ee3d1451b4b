import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { MatrixError } from '@matrix/protocol'

export type Exit = { code: number | null; signal: NodeJS.Signals | null }

/** A program that runs, boxed or not, with its pipes. */
export type RunningProgram = {
  pid: number
  stdin: Writable
  stdout: Readable
  stderr: Readable
  isBoxed: boolean
  exited: Promise<Exit>
  /** Connects to a port that it, or what it has started, listens on in its box. */
  connectInside?: ((port: number) => Promise<Socket>) | undefined
  /** Closes its input, waits, then ends it and everything it has started. */
  stop(graceMs?: number): Promise<Exit>
}

const GRACE_MS = 2000

/** Waits until a detached child runs. Its process group is what `stop` ends. */
export async function followChild(child: ChildProcess, isBoxed: boolean): Promise<RunningProgram> {
  const { stdin, stdout, stderr } = child
  stdin?.on('error', () => {})
  const exited = new Promise<Exit>((done) => child.once('exit', (code, signal) => done({ code, signal })))
  await new Promise<void>((done, fail) => {
    child.once('spawn', done)
    child.once('error', (cause) =>
      fail(
        new MatrixError('SERVER_UNAVAILABLE', `${child.spawnfile} could not be started: ${cause.message}`, { cause }),
      ),
    )
  })
  const { pid } = child
  if (!stdin || !stdout || !stderr || pid === undefined) throw new TypeError('A followed child needs pipes.')

  return {
    pid,
    stdin,
    stdout,
    stderr,
    isBoxed,
    exited,
    async stop(graceMs = GRACE_MS) {
      stdin.end()
      const clock = new AbortController()
      const patience = sleep(graceMs, undefined, { signal: clock.signal }).catch(() => undefined)
      await Promise.race([exited, patience])
      clock.abort()
      killGroup(pid)
      return exited
    },
  }
}

/** Ends a process group, if any of it is left. */
export function killGroup(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // Nobody is left, which is what was wanted.
  }
}
