import { spawn } from 'node:child_process'
import { access, type FileHandle, mkdir, open, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectLocal, findDaemon } from '@matrix/client/node'
import type { LockHolder } from '@matrix/event-store'
import { MatrixError } from '@matrix/protocol'
import { dataFolder } from './data-folder.ts'

export type RunningDaemon = NonNullable<Awaited<ReturnType<typeof findDaemon>>>

const START_MS = 60_000
const LOOK_EVERY_MS = 40

/** The program of the daemon, wherever it was installed beside this one. */
export async function findDaemonProgram(): Promise<string> {
  const folders = createRequire(import.meta.url).resolve.paths('@matrix/daemon') ?? []
  for (const folder of folders) {
    const program = join(folder, '@matrix', 'daemon', 'bin', 'matrix-daemon.js')
    if (
      await access(program).then(
        () => true,
        () => false,
      )
    )
      return program
  }
  throw new MatrixError('DAEMON_UNREACHABLE', 'The daemon is not installed beside this command.', {
    hint: 'Install @matrix/cli again, with all it depends on.',
  })
}

export function runningDaemon(): Promise<RunningDaemon | undefined> {
  return findDaemon(dataFolder())
}

export function daemonLogFile(): string {
  return join(dataFolder(), 'daemon.log')
}

/** Starts the daemon so that it outlives this process, and answers once it takes work; or says why it does not. */
export async function startDaemon(args: readonly string[]): Promise<RunningDaemon> {
  const program = await findDaemonProgram()
  const errors = join(dataFolder(), 'daemon.stderr')
  const output = await openErrors(errors)
  const child = spawn(process.execPath, [program, ...args], {
    detached: true,
    stdio: ['ignore', 'ignore', output.fd],
    cwd: dataFolder(),
  })
  await output.close()
  let ending: string | undefined
  child.once('error', (error) => {
    ending = error.message
  })
  child.once('exit', (code, signal) => {
    ending = signal ?? `exit code ${code}`
  })
  child.unref()

  for (const deadline = Date.now() + START_MS; Date.now() < deadline; ) {
    if (ending !== undefined) throw await startFailure(errors, ending)
    const daemon = await runningDaemon()
    if (daemon?.pid === child.pid && daemon && (await isReady())) return daemon
    await sleep(LOOK_EVERY_MS)
  }
  throw new MatrixError('NOT_READY', 'The daemon was started but is not ready after a minute.', {
    hint: 'Look at matrix daemon logs; it may still be resuming its agents.',
  })
}

async function openErrors(file: string): Promise<FileHandle> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    return await open(file, 'w', 0o600)
  } catch (cause) {
    throw unwritable(`Cannot write ${file} (${(cause as NodeJS.ErrnoException).code}).`, cause)
  }
}

async function isReady(): Promise<boolean> {
  return connectLocal(dataFolder())
    .then((client) => client.ready())
    .then(({ ready }) => ready)
    .catch(() => false)
}

/** Of the daemon, as its --help has it. */
const storageExitCode = 6

/** The daemon says in one sentence why it cannot start; that sentence is passed on. */
async function startFailure(errors: string, ending: string): Promise<MatrixError> {
  const said = (await readFile(errors, 'utf8').catch(() => '')).trim().split('\n')
  const [message = '', hint] = said.slice(-2)
  // What it says goes to the same disk.
  if (message === '' && ending === `exit code ${storageExitCode}`)
    return unwritable(`The daemon cannot write to ${dataFolder()}.`)
  return new MatrixError('DAEMON_UNREACHABLE', message.replace(/^error: /, '') || `The daemon ended with ${ending}.`, {
    hint: hint?.trim() || 'matrix daemon logs says more; matrix daemon start --foreground shows everything.',
  })
}

/**
 * The process that works on the data directory as its daemon, whether it answers or not. The lock says so: a process id in a file
 * may be anybody's by now.
 */
export async function findDaemonProcess(): Promise<LockHolder | undefined> {
  const { findHolder } = await import('@matrix/event-store')
  const holder = await findHolder(dataFolder())
  return holder?.note === 'daemon' ? holder : undefined
}

const STOP_MS = 15_000

function unwritable(message: string, cause?: unknown): MatrixError {
  return new MatrixError('DAEMON_UNREACHABLE', message, {
    hint: 'Free some disk space, and check that the disk works and that you may write there.',
    cause,
  })
}

/** Asks the daemon to end and waits for it; agents go on where they were at the next start. Answers whether there was one. */
export async function stopDaemon(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<boolean> {
  const holder = await findDaemonProcess()
  if (!holder) return false
  const { pid, host } = holder
  if (host !== hostname())
    throw new MatrixError('DAEMON_UNREACHABLE', `The daemon is process ${pid} of ${host}, and this is ${hostname()}.`, {
      hint: `Stop it there; if that is another name of this machine, with kill ${pid}.`,
    })
  process.kill(pid, signal)
  for (const deadline = Date.now() + STOP_MS; Date.now() < deadline; ) {
    if ((await findDaemonProcess())?.pid !== pid) return true
    await sleep(LOOK_EVERY_MS)
  }
  throw new MatrixError('NOT_READY', `The daemon (process ${pid}) has not ended yet.`, {
    hint: 'matrix daemon stop --force ends it at once; nothing is lost by it.',
  })
}
