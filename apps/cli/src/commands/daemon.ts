import { spawn } from 'node:child_process'
import { MatrixError, printableLine } from '@matrix/protocol'
import { formatDuration } from '@matrix/protocol/display'
import {
  daemonLogFile,
  findDaemonProcess,
  findDaemonProgram,
  type RunningDaemon,
  runningDaemon,
  startDaemon,
  stopDaemon,
} from '../daemon-process.ts'
import { dataFolder } from '../data-folder.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { connect } from '../place.ts'
import { colorsFor, print, printJson } from '../terminal.ts'

type Options = { json?: boolean }
type StartOptions = Options & { port?: string; demo?: boolean; foreground?: boolean }

export function start(options: StartOptions): Promise<ExitCode> {
  return startWith(flagsOf(options), options)
}

async function startWith(args: readonly string[], options: StartOptions): Promise<ExitCode> {
  const running = await runningDaemon()
  if (running) return report(running, 'The daemon runs already', options)
  if (options.foreground) return runInForeground([...args, '--foreground'])
  return report(await startDaemon(args), 'The daemon runs', options)
}

function flagsOf({ port, demo }: StartOptions): string[] {
  return [...(port === undefined ? [] : ['--port', readPort(port)]), ...(demo ? ['--demo'] : [])]
}

function readPort(text: string): string {
  if (/^\d+$/.test(text) && Number(text) <= 65_535) return text
  throw new MatrixError('REQUEST_INVALID', `${printableLine(text)} is not a port.`, {
    hint: 'Give a number up to 65535; 0 takes one that is free.',
  })
}

async function runInForeground(args: readonly string[]): Promise<ExitCode> {
  const child = spawn(process.execPath, [await findDaemonProgram(), ...args], { stdio: 'inherit' })
  // Ctrl-C reaches the daemon as well: it is waited for, so that it can end in order.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => child.kill(name))
  const code = await new Promise<number>((resolve) =>
    child.on('close', (code) => resolve(code ?? exitCode.interrupted)),
  )
  return code === 0 ? exitCode.ok : exitCode.usage
}

export async function stop(options: Options & { force?: boolean }): Promise<ExitCode> {
  const stopped = await stopDaemon(options.force ? 'SIGKILL' : 'SIGTERM')
  if (options.json) printJson({ stopped })
  else
    print(stopped ? 'The daemon has ended. Its agents go on where they were when it starts again.' : 'No daemon runs.')
  return exitCode.ok
}

export async function restart(options: StartOptions): Promise<ExitCode> {
  const flags = flagsOf(options)
  const running = await runningDaemon()
  await stopDaemon()
  // Of a flag that is there twice, the last counts.
  return startWith([...(running?.args ?? []), ...flags], options)
}

export async function status({ json }: Options): Promise<ExitCode> {
  const running = await runningDaemon()
  if (!running) throw await silence()
  const client = await connect()
  const [found, { ready }] = await Promise.all([client.getStatus(), client.ready()])
  if (json) printJson({ ...found, ready, url: running.url })
  else {
    const { bold, dim } = colorsFor(process.stdout)
    const { sandbox, agents, provider } = found
    const rows: [string, string][] = [
      ['address', bold(running.url)],
      [
        'running',
        `for ${formatDuration(Date.now() - Date.parse(found.startedAt))}, process ${found.pid}, version ${found.version}`,
      ],
      ['state', ready ? 'ready' : 'resuming its agents'],
      ['agents', `${agents.live} live, ${agents.working} working`],
      [
        'model',
        provider.kind === 'missing'
          ? 'no key is set: matrix auth set anthropic'
          : provider.kind === 'mock'
            ? 'a script (no key is set)'
            : (provider.model ?? 'the default of the provider'),
      ],
      ['sandbox', sandbox.isActive ? 'active' : `off: ${printableLine(sandbox.reason ?? '')}`],
      ['data', printableLine(found.dataDirectory)],
      ['log', printableLine(daemonLogFile())],
    ]
    print(rows.map(([name, value]) => `${dim(name.padEnd(8))}  ${value}`).join('\n'))
  }
  return exitCode.ok
}

async function silence(): Promise<MatrixError> {
  const holder = await findDaemonProcess()
  if (!holder) return new MatrixError('DAEMON_UNREACHABLE', `No daemon runs on ${dataFolder()}.`)
  return new MatrixError('NOT_READY', `The daemon (process ${holder.pid}) does not answer.`, {
    hint: 'It may just have been started. If it stays like this, matrix daemon stop --force ends it; nothing is lost by it.',
  })
}

function report(daemon: RunningDaemon, text: string, { json }: Options): ExitCode {
  if (json) printJson(daemon)
  else print(`${text} at ${daemon.url} (process ${daemon.pid}).`)
  return exitCode.ok
}
