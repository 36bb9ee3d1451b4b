import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, constants, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MatrixError, printable } from '@matrix/protocol'
import { hooksOff } from './git.ts'
import { endGroup, signalGroup } from './process-group.ts'

export const setupHook = '.mxd/hooks/setup_worktree.sh'

/** The script that makes a fresh worktree ready to work in. The hash is what an approval is bound to. */
export type SetupHook = { path: string; sha256: string }

export type SetupRun = {
  hook: SetupHook
  worktree: string
  /** Told to the script, on top of a small environment without secrets. */
  variables: Record<string, string>
  /** Where the script's process group is noted, so that it can be ended after a crash. */
  processFile: string
  timeoutMs: number
  signal?: AbortSignal | undefined
  onOutput?: ((text: string) => void) | undefined
}

/** Finds the script in the user's checkout. Missing is an error: an agent in a worktree without dependencies wastes money. */
export async function findSetupHook(folder: string): Promise<SetupHook> {
  const path = join(folder, setupHook)
  const content = await readFile(path).catch((error) => {
    throw new MatrixError('SETUP_HOOK_MISSING', `There is no ${path}`, { cause: error })
  })
  await access(path, constants.X_OK).catch((error) => {
    throw new MatrixError('SETUP_HOOK_MISSING', `${path} is not executable`, {
      hint: `Run chmod +x ${path}.`,
      cause: error,
    })
  })
  return { path, sha256: createHash('sha256').update(content).digest('hex') }
}

/** Runs the script in the worktree. Whatever it started in its process group ends with it when it fails or is stopped. */
export async function runSetupHook(run: SetupRun): Promise<void> {
  const { signal, timeoutMs } = run
  signal?.throwIfAborted()
  const tail = keepTail(4000)

  const code = await new Promise<number>((resolve, reject) => {
    // The shell notes its own process id before it becomes the script, so there is no moment in which nobody knows it.
    const child = spawn('/bin/sh', ['-c', 'printf %s $$ > "$0" && exec "$@"', run.processFile, run.hook.path], {
      cwd: run.worktree,
      env: { ...inherited(), ...hooksOff, ...run.variables },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    let failure: unknown
    const stop = (reason: unknown) => {
      failure ??= reason
      endGroup(child.pid, 1000)
    }
    const onAbort = () => stop(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    const timer = setTimeout(() => stop(tooSlow(run.hook, timeoutMs, tail())), timeoutMs)

    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        tail(text)
        run.onOutput?.(text)
      })
    child.on('error', reject)
    child.on('exit', (code) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      // What the script left running may hold its output open for ever; its last words are read, then that is it.
      const settle = () => (failure === undefined ? resolve(code ?? -1) : reject(failure))
      const late = setTimeout(settle, 300)
      child.on('close', () => {
        clearTimeout(late)
        settle()
      })
    })
  })
  if (code !== 0) throw failed(run.hook, `ended with ${code}`, tail())
}

/** Ends a script that outlived the process that started it. Only one that carries this worktree in its environment. */
export async function endLeftoverHook(processFile: string, worktree: string): Promise<void> {
  const pid = Number(await readFile(processFile, 'utf8').catch(() => ''))
  if (!Number.isInteger(pid) || pid <= 1) return
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
  if (environment.split('\0').includes(`MXD_WORKTREE=${worktree}`)) signalGroup(pid, 'SIGKILL')
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

function tooSlow(hook: SetupHook, timeoutMs: number, output: string): MatrixError {
  return failed(hook, `did not finish within ${timeoutMs / 1000} s and was ended`, output)
}

function failed(hook: SetupHook, what: string, output: string): MatrixError {
  const last = printable(output.trim().split('\n').slice(-20).join('\n'))
  return new MatrixError('SETUP_HOOK_FAILED', `${hook.path} ${what}${last && `. It said last:\n${last}`}`)
}
