import { type SpawnOptionsWithoutStdio, spawn } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { MatrixError, printable, printableLine } from '@matrix/protocol'
import { endGroup } from './process-group.ts'

export type GitOptions = {
  /** The git directory, absolute. Never found by looking around: what lies in a worktree may point anywhere. */
  gitDir?: string
  workTree?: string
  /** `undefined` takes a variable away. */
  env?: Record<string, string | undefined>
  input?: string | Uint8Array | Readable
  signal?: AbortSignal | undefined
  timeoutMs?: number
  /** Output beyond this ends git, and is an error unless it may be cut. */
  maxBytes?: number
  mayCut?: boolean
  /** Exit codes that are answers and not failures. */
  codes?: readonly number[]
}

/** `text` reads the output as UTF-8; file names that are no text are only in the bytes. */
export type GitResult = { code: number; stdout: Uint8Array; text(): string; stderr: string; truncated: boolean }

/** git at work. `closed` answers once it has ended and everything that it said was read. */
export type GitProcess = {
  stdin: Writable
  stdout: Readable
  stderr: Readable
  closed: Promise<{ code: number | null }>
  end(): void
}

/** Starts git in a folder, with nothing in its environment but what is given. */
export type StartGit = (args: readonly string[], at: { cwd: string; env: GitOptions['env'] }) => Promise<GitProcess>

/** The one way git is run. Tests pass their own to make it fail or be the last call of a process. */
export type Git = (args: readonly string[], options?: GitOptions) => Promise<GitResult>

// Everything in a repository's configuration that names a program, and everything that would make git wait or tidy up.
const settings = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.sshCommand=false',
  'core.gitProxy=false',
  'core.askPass=false',
  'core.editor=false',
  'core.pager=cat',
  'core.attributesFile=/dev/null',
  'core.alternateRefsCommand=false',
  'credential.helper=',
  'protocol.allow=never',
  'gpg.program=false',
  'commit.gpgSign=false',
  'submodule.recurse=false',
  'diff.ignoreSubmodules=all',
  'gc.auto=0',
  'maintenance.auto=false',
  // What is deleted after a snapshot must be in it for good, also when the power fails.
  'core.fsync=objects,reference',
  'core.fsyncMethod=batch',
  'core.filesRefLockTimeout=2000',
  'core.packedRefsTimeout=2000',
]

const environment = {
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '/bin/false',
  SSH_ASKPASS: '/bin/false',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_ALLOW_PROTOCOL: '',
}

/** For whatever runs in a worktree: the hooks of the user's repository are not for agents. */
export const hooksOff: Record<string, string> = {
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'core.hooksPath',
  GIT_CONFIG_VALUE_0: '/dev/null',
}

/** Runs git with everything neutralised that a repository, its configuration or the environment could smuggle in. */
export const runGit: Git = gitRunner()

/** The same with another program in git's place, such as one that gets itself killed, or with git in another place. */
export function gitRunner({ program, start }: { program?: string; start?: StartGit } = {}): Git {
  return async (args, options = {}) => {
    const begin = start ?? startProgram(program ?? findGit())
    const result = await run(begin, args, options)
    const { codes = [0] } = options
    if (result.truncated && !options.mayCut)
      throw new MatrixError('GIT_FAILED', `git ${commandOf(args)} said more than ${result.stdout.length} bytes`)
    if (result.truncated || codes.includes(result.code)) return result
    throw gitError(args, result)
  }
}

async function run(start: StartGit, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const { signal, timeoutMs = 120_000, maxBytes = 64 * 1024 * 1024, input = '' } = options
  signal?.throwIfAborted()

  // Never a folder that someone else has chosen: git would look around in it.
  const cwd = options.workTree ?? options.gitDir ?? '/'
  const git = await start([...prefix(options), ...args], { cwd, env: { ...environment, ...options.env } })
  const stdout: Buffer[] = []
  const stderr: Buffer[] = []
  let bytes = 0
  let truncated = false
  let ended: unknown

  const end = (reason: unknown) => {
    ended ??= reason
    git.end()
  }
  const onAbort = () => end(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted) onAbort()
  const timer = setTimeout(() => end(timedOut(args, timeoutMs)), timeoutMs)

  git.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes && !truncated) {
      truncated = true
      git.end()
    }
    stdout.push(chunk)
  })
  git.stderr.on('data', (chunk: Buffer) => {
    if (stderr.length < 1000) stderr.push(chunk)
  })
  // git may end before it has read everything; its exit code says more than the broken pipe.
  git.stdin.on('error', () => {})
  if (input instanceof Readable) input.pipe(git.stdin)
  else git.stdin.end(input)

  try {
    const { code } = await git.closed
    if (ended !== undefined) throw ended
    const all = Buffer.concat(stdout)
    const output = truncated ? all.subarray(0, maxBytes) : all
    return {
      code: code ?? -1,
      stdout: output,
      text: () => output.toString('utf8'),
      stderr: Buffer.concat(stderr).toString('utf8'),
      truncated,
    }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

function startProgram(program: string): StartGit {
  return async (args, { cwd, env }) => {
    // A group of its own, so that whatever git starts ends with it.
    const spawnAt = { env: { ...inherited(), ...env }, cwd, stdio: 'pipe', detached: true } as const
    const child = startChild(program, args, spawnAt)
    const { stdin, stdout, stderr } = child
    const closed = new Promise<{ code: number | null }>((done, fail) => {
      child.on('error', (error) => fail(startError(error, cwd)))
      child.on('close', (code) => done({ code }))
    })
    return { stdin, stdout, stderr, closed, end: () => endGroup(child.pid, 2000) }
  }
}

function startChild(program: string, args: readonly string[], options: SpawnOptionsWithoutStdio & { cwd: string }) {
  try {
    return spawn(program, args, options)
  } catch (error) {
    throw startError(error as Error, options.cwd)
  }
}

/** A folder that is gone looks to the system like a program that is. */
function startError(cause: Error, folder: string): MatrixError {
  if (!existsSync(folder))
    return new MatrixError('REPOSITORY_UNUSABLE', `${folder} is gone`, {
      hint: 'Put it back, or say where the repository lies now.',
      cause,
    })
  return new MatrixError('GIT_MISSING', `git could not be started: ${cause.message}`, { cause })
}

function prefix({ gitDir, workTree }: GitOptions): string[] {
  return [
    '--no-pager',
    ...settings.flatMap((setting) => ['-c', setting]),
    ...(gitDir ? [`--git-dir=${gitDir}`] : []),
    ...(workTree ? [`--work-tree=${workTree}`] : []),
  ]
}

// Nothing of GIT_* comes in from outside, and no secret that the daemon holds.
function inherited(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'XDG_CONFIG_HOME', 'USER', 'LOGNAME']
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name] ?? '']] : [])))
}

let gitPath: string | undefined

// Looked up once and by absolute path, so that a `git` in the current directory is never it.
export function findGit(): string {
  gitPath ??= (process.env.PATH ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((directory) => join(directory, 'git'))
    .find(isExecutable)
  if (!gitPath) throw new MatrixError('GIT_MISSING', 'There is no git on the PATH')
  return gitPath
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function commandOf(args: readonly string[]): string {
  const isOption = (arg: string, index: number) => arg.startsWith('-') || /^-[cC]$/.test(args[index - 1] ?? '')
  return args.find((arg, index) => !isOption(arg, index)) ?? ''
}

function timedOut(args: readonly string[], timeoutMs: number): MatrixError {
  return new MatrixError(
    'GIT_FAILED',
    `git ${commandOf(args)} did not finish within ${timeoutMs / 1000} s and was ended`,
  )
}

function gitError(args: readonly string[], { code, stderr }: GitResult): MatrixError {
  const said = printable(stderr.trim().slice(0, 2000)) || `exit code ${code}`
  if (/No space left on device|Disk quota exceeded/.test(stderr))
    return new MatrixError('STORAGE_FULL', `git ${commandOf(args)} found no room on the disk: ${said}`)
  const lock = /Unable to create '(.+\.lock)': File exists/.exec(stderr)?.[1]
  const hint =
    lock && `Another git is at work there. If none is running, one was killed: delete ${printableLine(lock)}.`
  return new MatrixError('GIT_FAILED', `git ${commandOf(args)} failed: ${said}`, hint ? { hint } : {})
}
