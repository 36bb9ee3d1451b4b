import { existsSync } from 'node:fs'
import { type Command, type CommandEnd, openCommands } from './command.ts'
import type { KeptOutput } from './kept-output.ts'
import { countKernelKills, openMemoryWatch } from './memory-watch.ts'
import { type CaptureOptions, captureOutput, type OutputCapture } from './output-capture.ts'
import { failed, type Workspace } from './workspace.ts'

/** A command that runs on after the call that started it. */
export type BackgroundProcess = {
  id: string
  command: string
  startedAt: number
  capture: OutputCapture
  end: CommandEnd | undefined
  /** Settles when it has ended. */
  ended: Promise<CommandEnd>
  kill(): void
}

export type RunOptions = {
  timeoutMs: number
  signal?: AbortSignal | undefined
  onOutput?: CaptureOptions['onOutput']
}

export type RunResult = CommandEnd & {
  output: string
  tookMs: number
  stopped: 'timeout' | 'cancelled' | undefined
  cwd: string
  hasMoved: boolean
  /** Whether the machine had no memory left and the kernel ended something meanwhile. */
  wasOutOfMemory: boolean
}

/** The shell of one agent: it remembers where it is between commands and what it left running. */
export type ShellSession = {
  run(command: string, options: RunOptions): Promise<RunResult>
  start(command: string): Promise<BackgroundProcess>
  list(): BackgroundProcess[]
  get(id: string): BackgroundProcess
  /** Ends whatever still runs. */
  close(): void
}

const MAX_BACKGROUND = 32

export function openShell(workspace: Workspace, kept: KeptOutput): ShellSession {
  const background = new Map<string, BackgroundProcess>()
  const running = new Set<Command>()
  const commands = openCommands()
  const memory = openMemoryWatch()
  let cwd = workspace.root
  let count = 0

  /** The folder may have been removed since; the workspace is always there. */
  function currentFolder(): string {
    if (!existsSync(cwd)) cwd = workspace.root
    return cwd
  }

  return {
    async run(command, { timeoutMs, signal, onOutput }) {
      const output = captureOutput({ spillFile: kept.nextFile, onOutput })
      const from = currentFolder()
      const start = performance.now()
      const started = await commands.start(command, { cwd: from, capture: output })
      const unwatch = memory.during((note) => output.write(Buffer.from(note)))
      // Asked only now: bash takes its time to start.
      const kernelKills = countKernelKills()
      running.add(started)
      let stopped: RunResult['stopped']
      const stop = (reason: 'timeout' | 'cancelled') => {
        stopped ??= reason
        started.kill()
      }
      const timer = setTimeout(stop, timeoutMs, 'timeout')
      const cancel = () => stop('cancelled')
      signal?.addEventListener('abort', cancel, { once: true })
      if (signal?.aborted) cancel()
      const end = await started.ended
      clearTimeout(timer)
      unwatch()
      signal?.removeEventListener('abort', cancel)
      running.delete(started)
      if (end.folder && existsSync(end.folder)) cwd = end.folder
      const tookMs = performance.now() - start
      const wasKilled = end.code === 137 || end.signal === 'SIGKILL'
      const wasOutOfMemory = wasKilled && countKernelKills() > kernelKills
      return { ...end, output: output.text(), tookMs, stopped, cwd, hasMoved: cwd !== from, wasOutOfMemory }
    },

    async start(command) {
      const alive = [...background.values()].filter(({ end }) => !end)
      if (alive.length >= MAX_BACKGROUND)
        throw failed(`${MAX_BACKGROUND} processes run in the background already.`, { hint: 'Kill one of them first.' })
      const output = captureOutput({ spillFile: kept.nextFile })
      const started = await commands.start(command, { cwd: currentFolder(), capture: output })
      const unwatch = memory.during((note) => output.write(Buffer.from(note)))
      running.add(started)
      count += 1
      const entry: BackgroundProcess = {
        id: `bg_${count}`,
        command,
        startedAt: Date.now(),
        capture: output,
        end: undefined,
        ended: started.ended,
        kill: started.kill,
      }
      void started.ended.then((end) => {
        entry.end = end
        unwatch()
        running.delete(started)
      })
      background.set(entry.id, entry)
      return entry
    },

    list: () => [...background.values()],

    get(id) {
      const found = background.get(id)
      if (found) return found
      const known = [...background.keys()].join(', ') || 'none'
      throw failed(`There is no background process "${id}" (there are: ${known}).`)
    },

    close() {
      for (const command of running) command.kill()
      commands.close()
    },
  }
}
