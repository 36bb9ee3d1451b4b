import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { NodeOrchestratorOptions, Orchestrator } from '@matrix/orchestrator'
import { MatrixError, printableLine } from '@matrix/protocol'
import packageJson from '../package.json' with { type: 'json' }
import { exitCode, exitCodeOf } from './exit-code.ts'
import type { Log } from './log.ts'
import { type RunningDaemon, type StartOptions, startDaemon } from './start-daemon.ts'

const flags = {
  'data-dir': { type: 'string' },
  port: { type: 'string' },
  host: { type: 'string' },
  name: { type: 'string', multiple: true },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  ui: { type: 'string' },
  foreground: { type: 'boolean' },
  enrol: { type: 'boolean' },
  demo: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
} as const

const help = `matrix-daemon: keeps the agents of Matrix alive.

  --data-dir <folder>   where everything is kept (MXD_DATA_DIR, or ~/.mxd)
  --port <number>       where browsers find it (the setting port, or 7433)
  --foreground          show the log here as well
  --enrol               print an address that lets in the first browser which opens it
  --demo                show a sample project, played without a model, while no key is configured
  --ui <folder>         the built web UI
  --host <address>      listen for other machines too; needs --tls-cert and --tls-key
  --name <host>         a name under which other machines reach it; may be repeated
  --tls-cert <file>     the certificate, PEM
  --tls-key <file>      its private key, PEM

Exit codes: 1 a fault, 2 wrong usage, 3 the port is in use, 4 the directory is in use, 5 no git, 6 the disk.
`

/** Runs the daemon until it is told to stop. Every reason why it cannot is one sentence, and what to do about it. */
export async function runProgram(args: string[]): Promise<number> {
  try {
    const { values } = parseFlags(args)
    if (values.help) return say(help)
    if (values.version) return say(`${packageJson.version}\n`)
    const daemon = await startDaemon(await readOptions(values))
    const stopped = stopOnSignal(daemon)
    await daemon.resume()
    announce(daemon, values)
    return await stopped
  } catch (error) {
    return explain(error)
  }
}

type Values = ReturnType<typeof parseFlags>['values']

function parseFlags(args: string[]) {
  try {
    return parseArgs({ args, options: flags })
  } catch (error) {
    throw new MatrixError('CONFIG_INVALID', (error as Error).message, { hint: 'See matrix-daemon --help.' })
  }
}

async function readOptions(values: Values): Promise<StartOptions> {
  const { host, name: names } = values
  const tls = await readTls(values)
  const uiFolder = values.ui ?? findUi()
  return {
    dataDirectory: resolve(values['data-dir'] ?? process.env.MXD_DATA_DIR ?? join(homedir(), '.mxd')),
    version: packageJson.version,
    args: lastingFlags(values),
    ...(values.port === undefined ? {} : { port: readPort(values.port) }),
    ...(host ? { host } : {}),
    ...(names ? { names } : {}),
    ...(tls ? { tls } : {}),
    ...(uiFolder ? { uiFolder } : {}),
    ...(values.foreground ? { onLogLine: showLine } : {}),
    openOrchestrator: (dataDirectory, log) => openOrchestrator(dataDirectory, log, values.demo === true),
  }
}

/** All but where the data is, which whoever starts it again knows, and what was for this time only. */
function lastingFlags(values: Values): string[] {
  const texts = (['port', 'host'] as const).map((name) => [name, values[name]] as const)
  const names = (values.name ?? []).map((name) => ['name', name] as const)
  const files = (['tls-cert', 'tls-key', 'ui'] as const).map((name) => [name, absolute(values[name])] as const)
  const given = [...texts, ...names, ...files].filter(([, value]) => value !== undefined)
  return [...given.map(([name, value]) => `--${name}=${value}`), ...(values.demo ? ['--demo'] : [])]
}

function absolute(path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(path)
}

async function openOrchestrator(dataDirectory: string, { logger }: Log, isDemo: boolean): Promise<Orchestrator> {
  const log = ({ level, message, ...facts }: LogEntry) => logger[level](facts, message)
  const options = { dataDirectory, note: 'daemon', log, reserveBytes: 64 * 1024 * 1024 }
  // Loading them takes longer than finding out that a flag is wrong or another daemon runs.
  if (isDemo) return (await import('@matrix/demo')).openDemo(options)
  return (await import('@matrix/orchestrator')).openNodeOrchestrator(options)
}

type LogEntry = Parameters<NonNullable<NodeOrchestratorOptions['log']>>[0]

function readPort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new MatrixError('CONFIG_INVALID', `${JSON.stringify(text)} is not a port.`, {
    hint: 'Give a number up to 65535.',
  })
}

async function readTls({ 'tls-cert': cert, 'tls-key': key }: Values): Promise<StartOptions['tls'] | undefined> {
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined)
    throw new MatrixError('CONFIG_INVALID', '--tls-cert and --tls-key belong together.', { hint: 'Give both.' })
  return { cert: await readPem(cert), key: await readPem(key) }
}

function readPem(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new MatrixError('DOCUMENT_UNREADABLE', `Cannot read ${file}.`, { cause: error })
  })
}

/** Beside the program when it is installed, beside its package in the repository. */
function findUi(): string | undefined {
  return ['./ui', '../../ui/dist']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((folder) => existsSync(join(folder, 'index.html')))
}

/** A first signal ends the daemon in order, a later one at once. */
function stopOnSignal(daemon: RunningDaemon): Promise<number> {
  return new Promise((resolve) => {
    let stoppingAt: number | undefined
    const stop = () => {
      // Ctrl-C reaches the daemon twice when what started it passes the signal on.
      if (stoppingAt !== undefined && Date.now() - stoppingAt > 500) process.exit(exitCode.fault)
      if (stoppingAt !== undefined) return
      stoppingAt = Date.now()
      // Whatever hangs: agents go on where they were, however the daemon ended.
      setTimeout(() => process.exit(exitCode.fault), 4500).unref()
      daemon.stop().then(
        () => resolve(exitCode.ok),
        (error) => resolve(explain(error)),
      )
    }
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)
  })
}

function announce({ file: { url }, openEnrolment }: RunningDaemon, { enrol }: Values): void {
  if (!enrol) return void say(`Matrix runs at ${url}\n`)
  // The fragment of an address is never sent anywhere, and this terminal belongs to whoever started the daemon.
  const { code } = openEnrolment({ trusted: true })
  say(`Matrix runs. Open this address in a browser on this machine:\n\n  ${url}/#enrol=${code}\n\n`)
  say('It lets in one browser, once, within five minutes; matrix device add lets in others.\n')
}

function showLine(line: string): void {
  const { time, msg, err } = JSON.parse(line) as { time: string; msg: string; err?: { message: string } }
  process.stderr.write(`${time.slice(11, 19)} ${printableLine(msg)}${err ? `: ${printableLine(err.message)}` : ''}\n`)
}

function say(text: string): number {
  process.stdout.write(text)
  return exitCode.ok
}

function explain(error: unknown): number {
  const known = error instanceof MatrixError ? error : undefined
  const message = error instanceof Error ? error.message : String(error)
  const hint = known?.hint ?? 'This is a fault in Matrix; please report it with what stands in daemon.log.'
  process.stderr.write(`error: ${printableLine(message)}\n  ${printableLine(hint)}\n`)
  if (!known && error instanceof Error && process.env.MATRIX_DEBUG) process.stderr.write(`${error.stack}\n`)
  return known ? exitCodeOf(known.code) : exitCode.fault
}
