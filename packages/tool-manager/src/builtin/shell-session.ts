import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, type CommandEnd, startCommand } from './command.ts'
import { captureOutput, type OutputCapture } from './output-capture.ts'
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
  onOutput?: ((chunk: Buffer) => void) | undefined
}

export type RunResult = CommandEnd & {
  output: string
  stopped: 'timeout' | 'cancelled' | undefined
  cwd: string
  hasMoved: boolean
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

export function openShell(workspace: Workspace): ShellSession {
  const background = new Map<string, BackgroundProcess>()
  const running = new Set<Command>()
  let cwd = workspace.root
  let count = 0

  function capture(): OutputCapture {
    return captureOutput({ spillFile: join(workspace.spillFolder, `output-${randomBytes(6).toString('hex')}.txt`) })
  }

  /** The folder may have been removed since; the workspace is always there. */
  function currentFolder(): string {
    if (!existsSync(cwd)) cwd = workspace.root
    return cwd
  }

  return {
    async run(command, { timeoutMs, signal, onOutput }) {
      const output = capture()
      const from = currentFolder()
      const started = await startCommand(command, { cwd: from, capture: output, onOutput })
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
      signal?.removeEventListener('abort', cancel)
      running.delete(started)
      if (end.folder && existsSync(end.folder)) cwd = end.folder
      return { ...end, output: output.text(), stopped, cwd, hasMoved: cwd !== from }
    },

    async start(command) {
      const alive = [...background.values()].filter(({ end }) => !end)
      if (alive.length >= MAX_BACKGROUND)
        throw failed(`${MAX_BACKGROUND} processes run in the background already.`, { hint: 'Kill one of them first.' })
      const output = capture()
      const started = await startCommand(command, { cwd: currentFolder(), capture: output })
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
    },
  }
}
