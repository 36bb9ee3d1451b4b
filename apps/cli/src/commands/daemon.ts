import { spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { MatrixError, printable, printableLine } from '@matrix/protocol'
import { formatDuration } from '@matrix/protocol/display'
import {
  daemonLogFile,
  findDaemonProgram,
  type RunningDaemon,
  runningDaemon,
  startDaemon,
  stopDaemon,
} from '../daemon-process.ts'
import { dataFolder } from '../data-folder.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { interruptSignal } from '../interrupt.ts'
import { connect } from '../place.ts'
import { colorsFor, print, printJson } from '../terminal.ts'

type Options = { json?: boolean }
type StartOptions = Options & { port?: string; foreground?: boolean }

export async function start(options: StartOptions): Promise<ExitCode> {
  const running = await runningDaemon()
  if (running) return report(running, 'The daemon runs already', options)
  const args = options.port === undefined ? [] : ['--port', options.port]
  if (options.foreground) return runInForeground(args)
  return report(await startDaemon(args), 'The daemon runs', options)
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
  const running = await runningDaemon()
  if (running) await stopDaemon(running, options.force ? 'SIGKILL' : 'SIGTERM')
  if (options.json) printJson({ stopped: Boolean(running) })
  else
    print(running ? 'The daemon has ended. Its agents go on where they were when it starts again.' : 'No daemon runs.')
  return exitCode.ok
}

export async function restart(options: StartOptions): Promise<ExitCode> {
  const running = await runningDaemon()
  if (running) await stopDaemon(running)
  return start(options)
}

export async function status({ json }: Options): Promise<ExitCode> {
  const running = await runningDaemon()
  if (!running) throw new MatrixError('DAEMON_UNREACHABLE', `No daemon runs on ${dataFolder()}.`)
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
            : (provider.model ?? ''),
      ],
      ['sandbox', sandbox.isActive ? 'active' : `off: ${printableLine(sandbox.reason ?? '')}`],
      ['data', printableLine(found.dataDirectory)],
      ['log', printableLine(daemonLogFile())],
    ]
    print(rows.map(([name, value]) => `${dim(name.padEnd(8))}  ${value}`).join('\n'))
  }
  return exitCode.ok
}

const TAIL_BYTES = 256 << 10
const LOOK_EVERY_MS = 250

export async function logs(options: { last?: string; follow?: boolean }): Promise<ExitCode> {
  const path = daemonLogFile()
  const file = await open(path).catch((cause) => {
    throw new MatrixError('DOCUMENT_UNREADABLE', `There is no log at ${path}.`, {
      hint: 'Start the daemon with matrix daemon start.',
      cause,
    })
  })
  const signal = interruptSignal()
  try {
    const { size } = await file.stat()
    const from = Math.max(0, size - TAIL_BYTES)
    const text = (await file.read(Buffer.alloc(size - from), 0, size - from, from)).buffer.toString('utf8')
    const lines = text
      .trimEnd()
      .split('\n')
      .slice(from > 0 ? 1 : 0)
    print(printable(lines.slice(-Number(options.last ?? 50)).join('\n')))
    for (let at = size; options.follow && !signal.aborted; ) {
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
      const { bytesRead, buffer } = await file.read(Buffer.alloc(64 << 10), 0, 64 << 10, at)
      if (bytesRead > 0) process.stdout.write(printable(buffer.toString('utf8', 0, bytesRead)))
      at += bytesRead
    }
  } finally {
    await file.close()
  }
  return options.follow ? exitCode.interrupted : exitCode.ok
}

function report(daemon: RunningDaemon, text: string, { json }: Options): ExitCode {
  if (json) printJson(daemon)
  else print(`${text} at ${daemon.url} (process ${daemon.pid}).`)
  return exitCode.ok
}
