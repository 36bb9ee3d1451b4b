import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import type { Readable } from 'node:stream'
import { type Hook, type HookTrigger, type Lock, matchesHook, type Policy, type ToolName } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { copyHookFiles, findHookFiles, notLocked, refuseNamed, usesApproved } from './hook-files.ts'
import type { BoxLaunch } from './sandbox/box.ts'
import { giveTree, resolveIdentity } from './sandbox/identity.ts'
import { killGroup } from './sandbox/running-program.ts'
import type { Sandbox } from './sandbox/sandbox.ts'
import type { Surroundings } from './server-pool.ts'

/** What a hook is told, as one JSON object on its standard input. */
export type HookInput = {
  prompt?: string
  tool_name?: string
  tool_input?: unknown
  tool_response?: { success: boolean; result: unknown[] }
}

export type HookOutcome = {
  hook: Hook
  status: 'ok' | 'blocked' | 'failed'
  /** What it wrote: for the context if all is well, for the model if it blocked, for the log otherwise. */
  output: string
}

export type HookRun = {
  trigger: HookTrigger
  input?: HookInput
  /** For `preToolUse` and `postToolUse`: which tool, so that matchers can choose. */
  tool?: ToolName
  signal?: AbortSignal | undefined
}

export type Hooks = {
  run(run: HookRun): Promise<HookOutcome[]>
  /** Removes the private copy of their files. */
  close(): Promise<void>
}

const TIMEOUT_MS = 30_000
const MAX_OUTPUT = 10_240
const MAX_PROMPT = 4096

/** Where hooks run, and from which bytes. */
export type HookPlace = {
  sandbox: Sandbox
  /** Where the agent works: what a hook is told, and can read at that path. */
  worktree: string | undefined
  cwd: string
  /** The project that the paths of its files start at. */
  root: string
  /** The digests that the lock holds of the files that hooks run from. */
  approved?: Lock['hook_files']
  /** Toolchains of the user, as the agent's own commands have them. */
  surroundings?: ((worktree: string) => Promise<Surroundings>) | undefined
}

/** The hooks of one agent, with what they answered for as long as each may be remembered. */
export function openHooks(hooks: Policy['hooks'], place: HookPlace): Hooks {
  const { cwd } = place
  const remembered = new Map<string, { outcome: HookOutcome; until: number }>()
  let ready: Promise<ReadyHooks> | undefined

  return {
    run({ trigger, input = {}, tool, signal }) {
      const chosen = (hooks[trigger] ?? []).filter(({ matcher }) => !tool || matchesHook(matcher, tool))
      const told = JSON.stringify({ hook_event_name: trigger, cwd, ...input })
      return Promise.all(chosen.map((hook) => recall(hook, trigger, told, input.prompt, signal)))
    },
    async close() {
      const prepared = await ready?.catch(() => undefined)
      ready = undefined
      if (prepared) await rm(prepared.folder, { recursive: true, force: true })
    },
  }

  /** Once: what was copied stays approved, whatever becomes of the files that it was copied from. */
  function prepare(): Promise<ReadyHooks> {
    ready ??= prepareHooks(hooks, place).catch((error) => {
      ready = undefined
      throw error
    })
    return ready
  }

  async function recall(
    hook: Hook,
    trigger: HookTrigger,
    told: string,
    prompt: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<HookOutcome> {
    const key = JSON.stringify([hook, told])
    const known = remembered.get(key)
    if (known && performance.now() < known.until) return known.outcome
    const ended = await prepare()
      .then(async (from) =>
        runCommand(hook, { from, told, prompt, signal, launch: await launchOf(hook, trigger, from) }),
      )
      .catch(neverRan)
    const outcome = judge(hook, trigger, ended)
    // An agent is spawned once, so what its hooks said then holds for as long as it lives.
    const ttlMs = trigger === 'agentSpawn' ? Number.POSITIVE_INFINITY : (hook.cache_ttl_seconds ?? 0) * 1000
    if (outcome.status === 'ok' && ttlMs > 0) remembered.set(key, { outcome, until: performance.now() + ttlMs })
    return outcome
  }
}

type ReadyHooks = {
  sandbox: Sandbox
  folder: string
  launch: Omit<BoxLaunch, 'args'>
  approved: NonNullable<Lock['hook_files']>
  worktree: string | undefined
  around: Surroundings | undefined
}

const guards: readonly HookTrigger[] = ['preToolUse', 'postToolUse']

/**
 * A hook that only tells the agent something starts in the worktree, with git there to read, unless it runs files of its own:
 * those are only in the private copy.
 */
async function launchOf(hook: Hook, trigger: HookTrigger, from: ReadyHooks): Promise<ReadyHooks['launch']> {
  const { launch, worktree, around, approved } = from
  if (!worktree || guards.includes(trigger)) return launch
  if (await usesApproved(hook.command, approved)) return launch
  const { readable = [], writable = [], overlays, files } = around ?? {}
  const env = { ...around?.env, ...launch.env, GIT_OPTIONAL_LOCKS: '0' }
  const policy = { ...launch.policy, readable: [...(launch.policy.readable ?? []), ...readable, ...writable] }
  return { ...launch, cwd: worktree, env, policy: { ...policy, overlays, files } }
}

/** Copies what was approved, and describes the sandbox: the worktree to read, no network, and the copy as its own place. */
async function prepareHooks(hooks: Policy['hooks'], place: HookPlace): Promise<ReadyHooks> {
  const { worktree, approved = {} } = place
  const { root } = place
  const { project, outside } = await findHookFiles(hooks, root)
  const unlocked = project.find((path) => !Object.hasOwn(approved, path))
  if (unlocked !== undefined) throw notLocked(unlocked)
  if (worktree) for (const { command } of Object.values(hooks).flat()) refuseNamed(command, worktree)
  const around = worktree ? await place.surroundings?.(worktree) : undefined
  const folder = await copyHookFiles(root, approved)
  const identity = place.sandbox.isBoxing ? resolveIdentity() : undefined
  if (identity) giveTree(folder, identity)
  const path = around?.env.PATH
  return {
    sandbox: place.sandbox,
    folder,
    approved,
    worktree,
    around,
    launch: {
      program: '/bin/bash',
      cwd: folder,
      env: { ...(path !== undefined && { PATH: path }), ...(outside.length > 0 && { HOME: homedir() }) },
      policy: {
        sideEffects: ['read', 'shell'],
        isOffline: true,
        worktree,
        readable: [folder, ...outside],
        toolchains: around?.toolchains,
      },
    },
  }
}

/** `neverRan`: the guard itself did not get to say anything. */
type Ended = { code: number | null; failure?: string; stdout: string; stderr: string; neverRan?: boolean }

function neverRan(error: unknown): Ended {
  if (!(error instanceof MatrixError)) throw error
  return { code: null, failure: `was not run: ${error.message}`, stdout: '', stderr: '', neverRan: true }
}

/** What bash answers where it finds no program, or none that it can start. */
const noProgram = new Set([126, 127])

function judge(hook: Hook, trigger: HookTrigger, { code, failure, stdout, stderr, neverRan }: Ended): HookOutcome {
  if (failure === undefined && code === 0) return { hook, status: 'ok', output: stdout }
  if (failure === undefined && code === 2 && trigger === 'preToolUse')
    return { hook, status: 'blocked', output: stderr || 'blocked without a reason' }
  const output = failure ?? `ended with ${code}: ${stderr}`
  // Someone who guards something does not want it open when the guard is ill, and least of all when it is missing.
  const isAbsent = neverRan || (code !== null && noProgram.has(code))
  const isBlocking = trigger === 'preToolUse' && (isAbsent || hook.on_error === 'block')
  return { hook, status: isBlocking ? 'blocked' : 'failed', output }
}

type CommandRun = {
  from: ReadyHooks
  launch: ReadyHooks['launch']
  told: string
  prompt: string | undefined
  signal: AbortSignal | undefined
}

async function runCommand(hook: Hook, { from, launch, told, prompt, signal }: CommandRun): Promise<Ended> {
  const { command, timeout_ms: timeoutMs = TIMEOUT_MS, max_output_size: limit = MAX_OUTPUT } = hook
  const shown = prompt && { USER_PROMPT: prompt.replace(/\p{Cc}/gu, ' ').slice(0, MAX_PROMPT) }
  const { sandbox } = from
  const env = { ...launch.env, ...shown }
  // A sandbox that could not be built ends with a code as well: only this line says that the hook itself was reached.
  const mark = `${randomUUID()}\n`
  // Where its input is a socket, as Node's pipes are, bash takes itself for a remote shell and runs the user's .bashrc first.
  const args = ['--norc', '-c', `echo ${mark.trim()} >&2\n${command}`]
  const running = await sandbox.spawn({ ...launch, env, args }).catch(neverRan)
  if (!('pid' in running)) return running
  const [stdout, stderr] = [capture(running.stdout, limit), capture(running.stderr, mark.length + limit)]
  let failure: string | undefined
  const end = (why: string) => {
    failure ??= why
    void running.stop(0)
  }
  const cancel = () => end('was cancelled')
  const clock = setTimeout(() => end(`did not end within ${timeoutMs} ms`), timeoutMs)
  signal?.addEventListener('abort', cancel, { once: true })
  if (signal?.aborted) cancel()
  running.stdin.end(told)
  const { code } = await running.exited
  clearTimeout(clock)
  signal?.removeEventListener('abort', cancel)
  killGroup(running.pid)
  const [said, complained] = [await stdout(), await stderr()]
  const neverBegan = !complained.startsWith(mark)
  return {
    code,
    stdout: said,
    stderr: neverBegan ? complained : complained.slice(mark.length),
    ...(failure !== undefined && { failure }),
    neverRan: neverBegan,
  }
}

/** Reads to the end, or the writer would be stopped, and keeps the start. */
function capture(stream: Readable, limit: number): () => Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  let isCut = false
  stream.on('data', (chunk: Buffer) => {
    if (size < limit) chunks.push(chunk.subarray(0, limit - size))
    isCut ||= size + chunk.length > limit
    size += chunk.length
  })
  const ended = new Promise<void>((done) => stream.once('close', done))
  return async () => {
    await ended
    return Buffer.concat(chunks).toString('utf8') + (isCut ? ' ... truncated' : '')
  }
}
