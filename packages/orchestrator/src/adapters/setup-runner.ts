import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MatrixError, printable } from '@matrix/protocol'
import { formatDuration } from '@matrix/protocol/display'
import { hooksOff, type SetupPlace } from '@matrix/task-tree'
import type { RunningProgram, Sandbox, Surroundings } from '@matrix/tool-manager'
import type { SetupHost, SetupRun } from '../setup/setup-host.ts'
import { interpreterOf } from '../setup/setup-script.ts'

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
      env: { ...(sandbox.isBoxing ? {} : inherited()), ...hooksOff, ...env, ...variablesOf(place) },
      cwd: place.worktree,
      onEgress: ({ missing }) => void (missing && refused.add(missing)),
      policy: {
        ...around,
        sideEffects: ['read', 'write', 'shell', 'network'],
        worktree: place.worktree,
        hosts: () => hosts(place.worktree),
        readable: [...(around.readable ?? []), file],
      },
    })
    await follow(running, run, refused)
  }
}

/** Outside of a sandbox nothing ends it with Matrix: it notes its process group before it becomes the script. */
function noted({ processFile }: SetupPlace, command: string[]): { program: string; args: string[] } {
  return { program: '/bin/sh', args: ['-c', 'printf %s $$ > "$0" && exec "$@"', processFile, ...command] }
}

function variablesOf({ taskId, worktree, repository, branch, baseBranch }: SetupPlace): Record<string, string> {
  return {
    MXD_TASK_ID: taskId,
    MXD_WORKTREE: worktree,
    MXD_REPOSITORY: repository,
    MXD_BRANCH: branch,
    MXD_BASE_BRANCH: baseBranch,
  }
}

async function follow(
  running: RunningProgram,
  { timeoutMs, signal, onOutput }: SetupRun,
  refused: ReadonlySet<string>,
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
    throw failed(`did not finish within ${formatDuration(timeoutMs)} and was ended`, tail(), refused)
  if (reason !== undefined) throw reason
  if (code !== 0) throw failed(`ended with ${killedBy ?? `exit code ${code}`} after ${ran}`, tail(), refused)
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

function failed(what: string, output: string, refused: ReadonlySet<string>): MatrixError {
  const last = printable(output.trim().split('\n').slice(-20).join('\n'))
  const hosts = [...refused].slice(0, 10)
  const blocked = hosts.length > 0 ? `. Hosts that are not allowed: ${hosts.join(', ')}` : ''
  const allow = `Allow them with matrix init --hosts ${hosts.join(',')}: the task resumes by itself.`
  return new MatrixError(
    'SETUP_FAILED',
    `The setup ${what}${blocked}${last && `. Its last lines:\n${last}`}`,
    hosts.length > 0 ? { hint: allow } : {},
  )
}
