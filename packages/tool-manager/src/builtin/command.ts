import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
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

const KILL_AFTER_MS = 1000
const DRAIN_MS = 200

/** Both outputs into one pipe, in order; and at the end the folder, on a channel of its own. */
const script = `exec 2>&1; trap 'pwd -P >&3' EXIT; eval "$1"`

/** Nobody is there to page through output or to type a password. */
const quiet = { PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0', TERM: 'dumb' }

/** Starts a command in a shell and a process group of its own. */
export async function startCommand(command: string, { cwd, capture }: CommandOptions): Promise<Command> {
  const shell = ['/bin/bash', '--noprofile', '--norc', '-c', script, 'bash', command]
  const [program = '', ...args] = unguarded(shell)
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...quiet },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  })
  const ended = followEnd(child)
  child.stdout?.on('data', capture.write)
  await new Promise<void>((done, fail) => {
    child.once('spawn', done)
    child.once('error', (cause) =>
      fail(failed(`bash could not be started: ${cause.message}`, { cause, hint: 'Commands cannot be run here.' })),
    )
  })

  const pid = child.pid ?? 0
  return {
    pid,
    ended: ended.then((end) => {
      capture.close()
      return end
    }),
    kill() {
      killGroup(pid, 'SIGTERM')
      const timer = setTimeout(() => killGroup(pid), KILL_AFTER_MS)
      void ended.finally(() => clearTimeout(timer))
    },
  }
}

async function followEnd(child: ChildProcess): Promise<CommandEnd> {
  const report = child.stdio[3] as Readable | null
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
