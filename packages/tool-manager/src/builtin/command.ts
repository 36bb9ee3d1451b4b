import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { unguarded } from '../sandbox/guard.ts'
import { killGroup } from '../sandbox/running-program.ts'
import type { OutputCapture } from './output-capture.ts'
import { failed } from './workspace.ts'

/** How a command ended, and in which folder it left its shell. */
export type CommandEnd = {
  code: number | null
  signal: NodeJS.Signals | null
  folder: string | undefined
  /** Whether something it had started was still running and has been ended. */
  hadLeftovers: boolean
}

export type Command = {
  pid: number
  ended: Promise<CommandEnd>
  /** Asks all that belongs to the command to end, and ends it if it does not. */
  kill(): void
}

export type CommandOptions = {
  cwd: string
  capture: OutputCapture
}

/** Starts commands, and keeps one shell ready for the next: what a shell needs to start is then over before it is asked for. */
export type CommandStarter = {
  start(command: string, options: CommandOptions): Promise<Command>
  close(): void
}

const KILL_AFTER_MS = 1000
const DRAIN_MS = 200

/**
 * Waits for a folder and a command, each ended by a NUL, runs it with both outputs in one pipe, in order, and at the end
 * tells the folder. Bash 3.2, which macOS has, knows all of it.
 */
const script = `exec 2>&1
IFS= read -r -d '' -u 3 folder && IFS= read -r -d '' -u 3 command || exit
cd -P -- "$folder" || exit
set -- "$command"; unset folder command OLDPWD; export OLDPWD
trap 'pwd -P >&3' EXIT; eval "$1"`

/** Nobody is there to page through output or to type a password. */
const quiet = { PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0', TERM: 'dumb' }

export function openCommands(): CommandStarter {
  let ready: ChildProcess | undefined
  let isClosed = false

  function prepare(): void {
    if (ready || isClosed) return
    const shell = spawnShell()
    ready = shell
    const forget = () => {
      if (ready === shell) ready = undefined
    }
    shell.once('error', forget).once('exit', forget)
  }

  return {
    async start(command, { cwd, capture }) {
      if (command.includes('\0')) throw failed('The command holds a NUL character.', { hint: 'Leave it out.' })
      const child = ready ?? (await untilSpawned(spawnShell()))
      ready = undefined
      const ended = followEnd(child)
      child.stdout?.on('data', capture.write)
      tell(child, cwd, command)
      const pid = child.pid ?? 0
      return {
        pid,
        ended: ended.then((end) => {
          capture.close()
          // Only after the answer is on its way.
          setImmediate(prepare)
          return end
        }),
        kill() {
          killGroup(pid, 'SIGTERM')
          const timer = setTimeout(() => killGroup(pid), KILL_AFTER_MS)
          void ended.finally(() => clearTimeout(timer))
        },
      }
    },

    close() {
      isClosed = true
      ready?.kill('SIGKILL')
    },
  }
}

/** A shell in a process group of its own that waits for its command. */
function spawnShell(): ChildProcess {
  const [program = '', ...args] = unguarded(['/bin/bash', '--noprofile', '--norc', '-c', script, 'bash'])
  return spawn(program, args, {
    cwd: '/',
    env: { ...process.env, ...quiet },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  })
}

async function untilSpawned(child: ChildProcess): Promise<ChildProcess> {
  await new Promise<void>((done, fail) => {
    child.once('spawn', done)
    child.once('error', (cause) =>
      fail(failed(`bash could not be started: ${cause.message}`, { cause, hint: 'Commands cannot be run here.' })),
    )
  })
  return child
}

function tell(child: ChildProcess, cwd: string, command: string): void {
  const channel = child.stdio[3] as Duplex | null
  // A shell that has been killed meanwhile says so by its end.
  channel?.on('error', () => {})
  channel?.write(`${cwd}\0${command}\0`)
}

async function followEnd(child: ChildProcess): Promise<CommandEnd> {
  const report = child.stdio[3] as Duplex | null
  let folder = ''
  report?.on('data', (chunk: Buffer) => {
    folder = (folder + chunk).slice(-8192)
  })
  const closed = new Promise((done) => child.once('close', done))
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((done) => {
    child.once('exit', (...end) => done(end))
    child.once('error', () => done([null, null]))
  })
  const hadLeftovers = child.pid !== undefined && isAlive(child.pid)
  if (hadLeftovers && child.pid !== undefined) killGroup(child.pid)
  // What has left its group may hold the pipes open for as long as it lives.
  await Promise.race([closed, sleep(DRAIN_MS, undefined, { ref: false })])
  child.stdout?.destroy()
  report?.destroy()
  return { code, signal, hadLeftovers, folder: folder.trimEnd().split('\n').at(-1) || undefined }
}

function isAlive(group: number): boolean {
  try {
    return process.kill(-group, 0)
  } catch {
    return false
  }
}
