import type { Readable, Writable } from 'node:stream'
import { MatrixError, printable } from '@matrix/protocol'

/**
 * Runs git in a sandbox, on the git directory that an agent writes. Whatever that directory holds (configuration, hooks, a damaged
 * index) reaches no further than the agent itself: the daemon's own git never opens it.
 */
export type SandboxGit = {
  /** Where the git directories are, one for each task. */
  readonly directory: string
  /** Whether sandboxes run as another user, to whom files have to be given. */
  readonly isOtherUser: boolean
  give(path: string): Promise<void>
  start(run: SandboxRun): Promise<SandboxProcess>
  /** Starts the user's git with Matrix's own rights, where nothing is there but what is named. */
  startFenced(run: FencedRun): Promise<SandboxProcess>
}

export type FencedRun = {
  args: readonly string[]
  env: Record<string, string>
  cwd: string
  writable: readonly string[]
  readable: readonly string[]
}

export type SandboxRun = {
  /** For `sh`, with git on its PATH and the arguments as `$1`, `$2`, … */
  script: string
  args?: readonly string[]
  gitDir: string
  /** Absent where only commits are looked at. */
  worktree?: string
  /** The user's objects, which the git directory borrows. */
  readable: readonly string[]
  /** Whether hooks of the project run, which need all that an agent's shell has and may change files. */
  withHooks?: boolean
}

export type SandboxProcess = {
  stdin: Writable
  stdout: Readable
  stderr: Readable
  exited: Promise<{ code: number | null }>
  stop(graceMs?: number): Promise<unknown>
}

/** The environment of such a script. What the agent has configured there must not get in the way of it. */
export function sandboxEnvironment({ gitDir, worktree, withHooks }: SandboxRun): Record<string, string> {
  const settings = {
    'core.hooksPath': '/dev/null',
    'core.fsmonitor': 'false',
    'core.quotePath': 'false',
    'gc.auto': '0',
  }
  const entries = Object.entries(settings).filter(([name]) => !(withHooks && name === 'core.hooksPath'))
  return {
    LC_ALL: 'C',
    GIT_DIR: gitDir,
    ...(worktree !== undefined && { GIT_WORK_TREE: worktree }),
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_COUNT: String(entries.length),
    ...Object.fromEntries(entries.map(([name], index) => [`GIT_CONFIG_KEY_${index}`, name])),
    ...Object.fromEntries(entries.map(([, value], index) => [`GIT_CONFIG_VALUE_${index}`, value])),
  }
}

export type SandboxAnswer = { code: number; stdout: string; stderr: string }

export type SandboxLimits = { input?: string; timeoutMs?: number; maxBytes?: number; signal?: AbortSignal | undefined }

/** Runs a script to its end. What it says is an agent's word: bounded here, and checked by the caller. */
export async function askSandbox(
  sandbox: SandboxGit,
  run: SandboxRun,
  { input = '', timeoutMs = 120_000, maxBytes = 1024 * 1024, signal }: SandboxLimits = {},
): Promise<SandboxAnswer> {
  const running = await sandbox.start(run)
  const stop = () => void running.stop(0)
  const clock = setTimeout(stop, timeoutMs)
  signal?.addEventListener('abort', stop, { once: true })
  running.stdin.end(input)
  try {
    const [stdout, stderr, { code }] = await Promise.all([
      collect(running.stdout, maxBytes),
      collect(running.stderr, 16 * 1024),
      running.exited,
    ])
    return { code: code ?? -1, stdout, stderr: printable(stderr.trim()) }
  } finally {
    clearTimeout(clock)
    signal?.removeEventListener('abort', stop)
  }
}

/** The beginning of a stream; what is too much is read and dropped, so that the writer ends. */
export async function collect(stream: Readable, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (bytes < maxBytes) chunks.push(chunk.subarray(0, maxBytes - bytes))
    bytes += chunk.length
  }
  return Buffer.concat(chunks).toString('utf8')
}

export function sandboxFailed(what: string, { code, stderr }: Pick<SandboxAnswer, 'code' | 'stderr'>): MatrixError {
  return new MatrixError('GIT_FAILED', `git in the sandbox could not ${what}: ${stderr || `exit code ${code}`}`, {
    hint: 'Read what git said and put the git directory of the sandbox right: git status, git fsck.',
  })
}
