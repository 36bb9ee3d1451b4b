import { existsSync, realpathSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { MatrixError, printableLine } from '@matrix/protocol'
import { findForeignSpec, PACKED_FILE, refuseDependency } from './npm-lock-file.ts'
import { listRegistryHosts, readNpmSettings } from './npm-settings.ts'
import { EGRESS_PORT } from './sandbox/egress-bridge.ts'
import { giveTree, resolveIdentity } from './sandbox/identity.ts'
import type { RunningProgram } from './sandbox/running-program.ts'
import type { Sandbox } from './sandbox/sandbox.ts'

export type NpmRun = {
  sandbox: Sandbox
  /** Where npm works: with the cache all that it can write. */
  folder: string
  cache: string
  /** The package, for messages. */
  what: string
  signal?: AbortSignal | undefined
  timeoutMs?: number
}

const MAX_OUTPUT = 16 << 20
const NOWHERE = '/nonexistent'
const fixed = [
  '--ignore-scripts',
  '--no-update-notifier',
  '--no-progress',
  '--workspaces=false',
  // npm would run git, and through it what a repository says: nothing by that name exists, also for an npm that does not know the other one.
  `--git=${NOWHERE}/git`,
  '--allow-git=none',
  // Every package that is looked up is named, which is all that there is to tell a refused one by.
  '--loglevel=silly',
]

/** Runs npm in a sandbox that reaches the registries of the user's settings, writes two folders and starts no program. */
export async function runNpm(args: string[], run: NpmRun): Promise<string> {
  const { sandbox, folder, cache, what, signal, timeoutMs = 120_000 } = run
  const npm = findNpm()
  const settings = readNpmSettings()
  await mkdir(cache, { recursive: true, mode: 0o700 })
  const identity = sandbox.isBoxing ? resolveIdentity() : undefined
  if (identity) for (const path of [folder, cache]) giveTree(path, identity)
  const [command = '', ...rest] = args
  const refused: string[] = []
  const running = await sandbox.spawn({
    program: process.execPath,
    args: [npm.program, command, ...fixed, `--prefix=${folder}`, ...rest],
    cwd: folder,
    env: {
      ...settings.env,
      ...(sandbox.isBoxing ? throughBridge : ownProxies()),
      // No other file of settings is read: least of all one that came with a package.
      npm_config_userconfig: `${NOWHERE}/user`,
      npm_config_globalconfig: `${NOWHERE}/global`,
      npm_config_cache: cache,
    },
    policy: {
      sideEffects: ['network'],
      hosts: () => listRegistryHosts(settings.destinations),
      readable: [npm.folder, ...settings.paths.filter(existsSync)],
      writable: [folder, cache],
    },
    onEgress: ({ allowed, missing }) => void (!allowed && missing && refused.push(missing)),
  })
  const ended = await follow(running, { signal, timeoutMs })
  if (signal?.aborted) throw new MatrixError('TOOL_CANCELLED', `${what} is not fetched any more.`)
  if (ended.code === 0) return ended.stdout
  throw explain(what, { ...ended, refused })
}

const bridge = `http://127.0.0.1:${EGRESS_PORT}`
const throughBridge = { npm_config_proxy: bridge, npm_config_https_proxy: bridge, npm_config_noproxy: '' }

function ownProxies(): Record<string, string> {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()])
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name] ?? '']] : [])))
}

/** The script of npm itself: what stands in the PATH may be a shim, which would have to start a program. */
function findNpm(): { program: string; folder: string } {
  const script = 'npm/bin/npm-cli.js'
  const { dir, folders } = { dir: dirname(realpathSync(process.execPath)), folders: process.env.PATH ?? '' }
  const beside = [join(dir, '../lib/node_modules', script), join(dir, 'node_modules', script)]
  const inPath = folders.split(delimiter).map((folder) => join(folder, 'npm'))
  for (const path of [...beside, ...inPath]) {
    const program = existsSync(path) ? realpathSync(path) : ''
    if (program.endsWith('/npm-cli.js')) return { program, folder: dirname(dirname(program)) }
  }
  throw new MatrixError('PACKAGE_UNAVAILABLE', 'npm is not installed.', { hint: 'Install Node.js with npm.' })
}

type Ended = { code: number | null; stdout: string; asked: string[]; errors: string[]; isLate: boolean }

async function follow(
  running: RunningProgram,
  { signal, timeoutMs }: { signal: AbortSignal | undefined; timeoutMs: number },
): Promise<Ended> {
  let isLate = false
  const stop = () => void running.stop(0)
  const clock = setTimeout(() => {
    isLate = true
    stop()
  }, timeoutMs)
  signal?.addEventListener('abort', stop, { once: true })
  if (signal?.aborted) stop()
  running.stdin.end()
  const asked: string[] = []
  const errors: string[] = []
  try {
    const [stdout] = await Promise.all([readAll(running.stdout), readLog(running.stderr, { asked, errors })])
    const { code } = await running.exited
    return { code, stdout, asked, errors, isLate }
  } finally {
    clearTimeout(clock)
    signal?.removeEventListener('abort', stop)
  }
}

async function readAll(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    bytes += chunk.length
    if (bytes <= MAX_OUTPUT) chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const MAX_LINES = 200

/** Keeps what was asked for from elsewhere than a registry, and what went wrong. */
async function readLog(stream: Readable, { asked, errors }: Pick<Ended, 'asked' | 'errors'>): Promise<void> {
  for await (const line of createInterface({ input: stream })) {
    const [, level, text = ''] = /^npm (?:(silly) fetch manifest|error|ERR!) ?(.*)$/.exec(line) ?? []
    const foreign = level && !text.endsWith(`@file:${PACKED_FILE}`) ? findForeignSpec(text) : undefined
    if (foreign && asked.length < MAX_LINES) asked.push(foreign)
    if (!level && text && errors.length < MAX_LINES) errors.push(text)
  }
}

const words: Record<string, string> = {
  E404: 'no such package in the registry',
  ETARGET: 'no such version',
  EINTEGRITY: 'the registry serves other bytes than it states',
  E401: 'the registry asks for a credential, and ~/.npmrc has none that it accepts',
  ENOTFOUND: 'the registry cannot be reached',
  EAI_AGAIN: 'the registry cannot be reached',
  ECONNREFUSED: 'the registry cannot be reached',
  E502: 'the registry cannot be reached',
}

function explain(what: string, { asked, errors, refused, isLate }: Ended & { refused: string[] }): MatrixError {
  const [first] = asked
  if (first) return refuseDependency(`${what} depends on ${first}`)
  const code = errors.map((line) => /^code (E\w+)/.exec(line)?.[1]).find(Boolean)
  if (code === 'EALLOWGIT') return refuseDependency(`${what} depends on a git repository, which is no registry`)
  const [host] = refused
  if (host)
    return new MatrixError(
      'PACKAGE_UNAVAILABLE',
      `${what} could not be fetched: it leads to ${host}, which is no registry.`,
      {
        hint: `If your registry keeps its files there, name it in ~/.npmrc: @downloads:registry=https://${host}/`,
      },
    )
  const reason = isLate ? 'it took too long' : (words[code ?? ''] ?? code ?? printableLine(errors[0] ?? 'npm failed'))
  return new MatrixError('PACKAGE_UNAVAILABLE', `${what} could not be fetched: ${reason}.`, {
    cause: new Error(errors.slice(0, 20).join('\n')),
  })
}
