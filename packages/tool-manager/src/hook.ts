import { spawn } from 'node:child_process'
import { type Hook, type HookTrigger, matchesHook, type Policy, type ToolName } from '@matrix/manifest'
import { killGroup } from './sandbox/running-program.ts'

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

export type Hooks = { run(run: HookRun): Promise<HookOutcome[]> }

const TIMEOUT_MS = 30_000
const MAX_OUTPUT = 10_240
const MAX_PROMPT = 4096

/** The hooks of one agent, with what they answered for as long as each may be remembered. */
export function openHooks(hooks: Policy['hooks'], { cwd }: { cwd: string }): Hooks {
  const remembered = new Map<string, { outcome: HookOutcome; until: number }>()

  return {
    run({ trigger, input = {}, tool, signal }) {
      const chosen = (hooks[trigger] ?? []).filter(({ matcher }) => !tool || matchesHook(matcher, tool))
      const told = JSON.stringify({ hook_event_name: trigger, cwd, ...input })
      return Promise.all(chosen.map((hook) => recall(hook, trigger, told, input.prompt, signal)))
    },
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
    const outcome = judge(hook, trigger, await runCommand(hook, { cwd, told, prompt, signal }))
    // An agent is spawned once, so what its hooks said then holds for as long as it lives.
    const ttlMs = trigger === 'agentSpawn' ? Number.POSITIVE_INFINITY : (hook.cache_ttl_seconds ?? 0) * 1000
    if (outcome.status === 'ok' && ttlMs > 0) remembered.set(key, { outcome, until: performance.now() + ttlMs })
    return outcome
  }
}

type Ended = { code: number | null; failure?: string; stdout: string; stderr: string }

function judge(hook: Hook, trigger: HookTrigger, { code, failure, stdout, stderr }: Ended): HookOutcome {
  if (failure === undefined && code === 0) return { hook, status: 'ok', output: stdout }
  if (failure === undefined && code === 2 && trigger === 'preToolUse')
    return { hook, status: 'blocked', output: stderr || 'blocked without a reason' }
  const output = failure ?? `ended with ${code}: ${stderr}`
  // Someone who guards something does not want it open when the guard is ill.
  const isBlocking = trigger === 'preToolUse' && hook.on_error === 'block'
  return { hook, status: isBlocking ? 'blocked' : 'failed', output }
}

type CommandRun = { cwd: string; told: string; prompt: string | undefined; signal: AbortSignal | undefined }

function runCommand(hook: Hook, { cwd, told, prompt, signal }: CommandRun): Promise<Ended> {
  const { command, timeout_ms: timeoutMs = TIMEOUT_MS, max_output_size: limit = MAX_OUTPUT } = hook
  const { PATH = '/usr/local/bin:/usr/bin:/bin', HOME = '/' } = process.env
  const shown = prompt && { USER_PROMPT: prompt.replace(/\p{Cc}/gu, ' ').slice(0, MAX_PROMPT) }
  // Where its input is a socket, as Node's pipes are, bash takes itself for a remote shell and runs the user's .bashrc first.
  const child = spawn('bash', ['--norc', '-c', command], {
    cwd,
    env: { PATH, HOME, LANG: 'C.UTF-8', ...shown },
    detached: true,
  })
  const stdout = capture(child.stdout, limit)
  const stderr = capture(child.stderr, limit)
  return new Promise((done) => {
    const end = (code: number | null, failure?: string) => {
      clearTimeout(clock)
      signal?.removeEventListener('abort', cancel)
      if (child.pid !== undefined) killGroup(child.pid)
      done({ code, stdout: stdout(), stderr: stderr(), ...(failure !== undefined && { failure }) })
    }
    const cancel = () => end(null, 'was cancelled')
    const clock = setTimeout(() => end(null, `did not end within ${timeoutMs} ms`), timeoutMs)
    signal?.addEventListener('abort', cancel, { once: true })
    child.once('error', (error) => end(null, `could not be started: ${error.message}`))
    child.once('close', (code) => end(code))
    child.stdin.on('error', () => {}).end(told)
  })
}

/** Reads to the end, or the writer would be stopped, and keeps the start. */
function capture(stream: NodeJS.ReadableStream, limit: number): () => string {
  const chunks: Buffer[] = []
  let size = 0
  let isCut = false
  stream.on('data', (chunk: Buffer) => {
    if (size < limit) chunks.push(chunk.subarray(0, limit - size))
    isCut ||= size + chunk.length > limit
    size += chunk.length
  })
  return () => Buffer.concat(chunks).toString('utf8') + (isCut ? ' ... truncated' : '')
}
