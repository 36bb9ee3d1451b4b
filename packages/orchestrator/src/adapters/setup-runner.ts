import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MatrixError, printable } from '@matrix/protocol'
import { formatDuration } from '@matrix/protocol/display'
import { findCheckoutFiles } from '@matrix/protocol/http'
import { hooksOff, type SetupPlace } from '@matrix/task-tree'
import type { RunningProgram, Sandbox, Surroundings } from '@matrix/tool-manager'
import type { SetupHost, SetupRun } from '../setup/setup-host.ts'
import { interpreterOf } from '../setup/setup-script.ts'
import { CHECKOUT, readCheckoutFiles } from './checkout-files.ts'

type Options = {
  sandbox: Sandbox
  /** Where the bytes lie that run: a folder that no sandbox can write. */
  directory: string
  surroundings(worktree: string): Promise<Surroundings>
  /** The hosts that are allowed there. */
  hosts(worktree: string): Promise<string[]>
  /** Makes a worktree writable for what runs in a sandbox. */
  adopt(worktree: string): Promise<void>
}

/** Runs setups in the sandbox of an agent's shell: the worktree, the home of the project and the network, and no more. */
export function createSetupRunner({ sandbox, directory, surroundings, hosts, adopt }: Options): SetupHost['run'] {
  return async (run) => {
    const { script, sha256, place, signal } = run
    const files = sandbox.isBoxing ? await readCheckoutFiles(place.repository, run.files) : []
    signal?.throwIfAborted()
    const file = join(directory, `${sha256}.sh`)
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await writeFile(file, script)
    await chmod(file, 0o755)
    await adopt(place.worktree)
    const { env, ...around } = await surroundings(place.worktree)
    const [program, ...args] = interpreterOf(script)
    const refused = new Set<string>()
    const running = await sandbox.spawn({
      ...(sandbox.isBoxing ? { program, args: [...args, file] } : noted(place, [program, ...args, file])),
      env: { ...(sandbox.isBoxing ? {} : inherited()), ...hooksOff, ...env, ...variablesOf(place, sandbox.isBoxing) },
      cwd: place.worktree,
      onEgress: ({ missing }) => void (missing && refused.add(missing)),
      policy: {
        ...around,
        sideEffects: ['read', 'write', 'shell', 'network'],
        worktree: place.worktree,
        hosts: () => hosts(place.worktree),
        readable: [...(around.readable ?? []), file],
        files: [...(around.files ?? []), ...files],
      },
    })
    const unnamed = findCheckoutFiles(script).filter((path) => !run.files.includes(path))
    await follow(running, run, { refused, unnamed: sandbox.isBoxing ? unnamed : [] })
  }
}

/** Outside of a sandbox nothing ends it with Matrix: it notes its process group before it becomes the script. */
function noted({ processFile }: SetupPlace, command: string[]): { program: string; args: string[] } {
  return { program: '/bin/sh', args: ['-c', 'printf %s $$ > "$0" && exec "$@"', processFile, ...command] }
}

function variablesOf(place: SetupPlace, isBoxing: boolean): Record<string, string> {
  const { taskId, worktree, repository, branch, baseBranch } = place
  return {
    MXD_TASK_ID: taskId,
    MXD_WORKTREE: worktree,
    MXD_REPOSITORY: isBoxing ? CHECKOUT : repository,
    MXD_BRANCH: branch,
    MXD_BASE_BRANCH: baseBranch,
  }
}

/** What the script may have wanted and was not there. */
type Missing = { refused: ReadonlySet<string>; unnamed: readonly string[] }

async function follow(
  running: RunningProgram,
  { timeoutMs, signal, onOutput }: SetupRun,
  missing: Missing,
): Promise<void> {
  const startedAt = Date.now()
  const tail = keepTail(4000)
  let reason: unknown
  const end = (why: unknown) => {
    reason ??= why
    void running.stop(0)
  }
  const onAbort = () => end(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted) onAbort()
  const timer = setTimeout(() => end('too slow'), timeoutMs)
  for (const stream of [running.stdout, running.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      tail(text)
      onOutput(text)
    })
  running.stdin.end()
  const { code, signal: killedBy } = await running.exited
  clearTimeout(timer)
  signal?.removeEventListener('abort', onAbort)
  await ended(running)
  const ran = formatDuration(Date.now() - startedAt)
  if (reason === 'too slow')
    throw failed(`did not finish within ${formatDuration(timeoutMs)} and was ended`, tail(), missing)
  if (reason !== undefined) throw reason
  if (code !== 0) throw failed(`ended with ${killedBy ?? `exit code ${code}`} after ${ran}`, tail(), missing)
}

/** What a setup leaves running may hold its output open for ever; its last words are read, then that is it. */
async function ended({ stdout, stderr }: RunningProgram): Promise<void> {
  const closed = [stdout, stderr].map(
    (stream) => new Promise<void>((done) => (stream.readableEnded ? done() : stream.once('close', done))),
  )
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((done) => {
    timer = setTimeout(done, 300)
  })
  await Promise.race([Promise.all(closed), late])
  clearTimeout(timer)
}

const passedOn =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|XDG_\w+|(https?|no|all)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+)$/i

function inherited(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (passedOn.test(name) && value ? [[name, value]] : [])),
  )
}

/** Keeps the end of what it is given, and answers with it. */
function keepTail(length: number): (text?: string) => string {
  let kept = ''
  return (text = '') => {
    kept = (kept + text).slice(-length)
    return kept
  }
}

function failed(what: string, output: string, { refused, unnamed }: Missing): MatrixError {
  const last = printable(output.trim().split('\n').slice(-20).join('\n'))
  const hosts = [...refused].slice(0, 10)
  const blocked = hosts.length > 0 ? `. Hosts that are not allowed: ${hosts.join(', ')}` : ''
  const files = unnamed.length > 0 ? `. Files of your checkout that were not named: ${unnamed.join(', ')}` : ''
  const hints = [
    ...(hosts.length > 0 ? [`Allow the hosts with matrix init --hosts ${hosts.join(',')}.`] : []),
    ...(unnamed.length > 0 ? [`Name the files with matrix init --setup-files ${unnamed.join(',')}.`] : []),
  ]
  return new MatrixError(
    'SETUP_FAILED',
    `The setup ${what}${blocked}${files}${last && `. Its last lines:\n${last}`}`,
    hints.length > 0 ? { hint: `${hints.join(' ')} The task resumes by itself.` } : {},
  )
}
