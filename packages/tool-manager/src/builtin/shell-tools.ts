import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { answer, builtinTool } from './builtin-tool.ts'
import { openLiveReport } from './live-report.ts'
import type { BackgroundProcess, RunResult } from './shell-session.ts'
import { showPath } from './workspace.ts'

const TIMEOUT_MS = 120_000
/** What a shell says of a command that SIGXFSZ has ended. */
const FILE_TOO_LARGE = 128 + 25
/** The longest limit that a command can have. */
export const MAX_TIMEOUT_MS = 600_000

export const bashTool = builtinTool({
  name: 'bash',
  description:
    'Runs a command in bash, starting in the workspace. The working directory carries over to the next call; variables do not. There is no input and no terminal. stdout and stderr come back together; long output is shown in part and kept whole in a file that read_file can read. When the command ends, or takes longer than timeout_ms, every process it started is ended and the output so far comes back. With background set, the call returns at once and the process keeps running; see the tool background.',
  side_effect_class: 'shell',
  roles: { commands: ['command'] },
  input: z.strictObject({
    command: z.string().min(1).max(100_000),
    timeout_ms: z.int().min(100).max(MAX_TIMEOUT_MS).optional().describe(`${TIMEOUT_MS} if absent.`),
    background: z.boolean().optional().describe('Let it run on after the call returns.'),
  }),
  async run({ shell, workspace }, { command, timeout_ms = TIMEOUT_MS, background }, { signal, report }) {
    if (background) {
      const { id } = await shell.start(command)
      return { ...answer(`Started in the background as ${id}.`), structuredContent: { id } }
    }
    const live = report && openLiveReport(report)
    const result = await shell.run(command, { timeoutMs: timeout_ms, signal, onOutput: live?.add })
    live?.close()
    const text = [result.output.trimEnd(), ...notesOf(result, timeout_ms, showPath(workspace, result.cwd))]
    return { ...answer(text.filter((part) => part !== '').join('\n')), isError: result.stopped !== undefined }
  },
})

export const backgroundTool = builtinTool({
  name: 'background',
  description:
    'Looks after processes that bash started with background set. "list" names them all; "status" shows whether one runs and what it has printed; "await" waits until it ends or timeout_ms is over; "kill" ends it and all it has started.',
  side_effect_class: 'shell',
  roles: {},
  input: z.strictObject({
    action: z.enum(['list', 'status', 'await', 'kill']),
    id: z.string().max(100).optional().describe('Which one, such as "bg_1"; needed for all but "list".'),
    timeout_ms: z.int().min(0).max(MAX_TIMEOUT_MS).optional().describe('For "await"; 30000 if absent.'),
  }),
  async run({ shell }, { action, id = '', timeout_ms = 30_000 }, { signal }) {
    if (action === 'list') {
      const lines = shell.list().map((entry) => `${entry.id}  ${stateOf(entry)}  ${entry.command.slice(0, 200)}`)
      return answer(lines.join('\n') || 'Nothing was started in the background.')
    }
    const entry = shell.get(id)
    if (action === 'kill') {
      entry.kill()
      await entry.ended
    }
    if (action === 'await') await waitFor(entry, timeout_ms, signal)
    const output = entry.capture.text().trimEnd()
    const state = { id: entry.id, isRunning: !entry.end, exitCode: entry.end?.code ?? null, output }
    return { ...answer([`[${entry.id}: ${stateOf(entry)}]`, output].join('\n').trimEnd()), structuredContent: state }
  },
})

function notesOf(result: RunResult, timeoutMs: number, folder: string): string[] {
  const { code, signal, stopped, tookMs, hadLeftovers, hasMoved, output } = result
  const reason = stopped === 'timeout' ? `its timeout_ms was ${timeoutMs}` : 'the call was cancelled'
  const ending = stopped
    ? `[ended after ${(tookMs / 1000).toFixed(1)} s: ${reason}]`
    : code === 0
      ? ''
      : `[exit code ${code ?? signal}]`
  return [
    ending || (output === '' ? '[no output, exit code 0]' : ''),
    result.wasOutOfMemory ? '[the machine ran out of memory, and the kernel ended a process]' : '',
    code === FILE_TOO_LARGE || signal === 'SIGXFSZ' ? '[a file grew past the limit of the sandbox for one file]' : '',
    hadLeftovers && !stopped ? '[processes that it left running were ended]' : '',
    hasMoved ? `[working directory: ${folder}]` : '',
  ]
}

function stateOf({ end, startedAt }: BackgroundProcess): string {
  if (!end) return `running for ${Math.round((Date.now() - startedAt) / 1000)} s`
  return end.code === null ? `ended by ${end.signal}` : `exit code ${end.code}`
}

async function waitFor({ ended }: BackgroundProcess, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const clock = new AbortController()
  const patience = sleep(timeoutMs, undefined, { signal: AbortSignal.any([signal, clock.signal]) })
  await Promise.race([ended, patience.catch(() => undefined)])
  clock.abort()
}
