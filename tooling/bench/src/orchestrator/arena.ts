import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../../../apps/daemon/dist/main.js', import.meta.url))

/** What the daemon used since it was last asked. */
export type Usage = { cpuMs: number; rssBytes: number; loopP99Ms: number }

export type Daemon = {
  pid: number
  port: number
  token: string
  /** From the start of the process until it took work. */
  readyMs: number
  ask<Answer>(method: string, path: string, body?: object): Promise<Answer>
  use(options?: { watchLoop: boolean }): Promise<Usage>
  end(signal: NodeJS.Signals): Promise<void>
}

export type Model = {
  url: string
  /** Says what agents do from now on, and answers with how often it was called so far. */
  command(order?: { work: boolean }): Promise<number>
  close(): void
}

/** A folder with a data directory and a small repository in it. */
export function makeHome(folder?: string): string {
  const home = realpathSync(folder ?? mkdtempSync(join(tmpdir(), 'matrix-bench-')))
  const repository = join(home, 'shop')
  const git = (...args: string[]) => execFileSync('git', args, { cwd: repository, env: environment(home) })
  mkdirSync(repository, { recursive: true })
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.com\n')
  writeFileSync(join(repository, 'readme.md'), 'hello\n')
  git('init', '--quiet', '-b', 'trunk')
  git('add', '--all')
  git('commit', '--quiet', '-m', 'first')
  return home
}

/** Only the built-in tools, and the script in the place of a model. */
export function configure(home: string, model: Pick<Model, 'url'>): void {
  const data = join(home, 'data')
  mkdirSync(join(data, 'agents'), { recursive: true, mode: 0o700 })
  const shipped = JSON.parse(readFileSync(new URL('../../../../agents/default.json', import.meta.url), 'utf8')) as {
    servers: { alias: string }[]
  }
  shipped.servers = shipped.servers.filter(({ alias }) => alias === 'mxd')
  writeFileSync(join(data, 'agents/default.json'), JSON.stringify(shipped))
  const authGroups = { mock: { provider: 'anthropic', anthropicApiKey: 'played', anthropicBaseUrl: model.url } }
  // All agents speak at once; that is what is measured.
  const settings = { authGroups, maxConcurrentModelCalls: 1000 }
  writeFileSync(join(data, 'config.json'), JSON.stringify(settings), { mode: 0o600 })
}

export function removeHome(home: string): void {
  rmSync(home, { recursive: true, force: true })
}

/** Starts the built daemon as a process of its own and waits until it takes work. */
export async function startDaemon(home: string): Promise<Daemon> {
  if (!existsSync(program)) throw new Error('Build the daemon first: pnpm turbo run build --filter @matrix/daemon')
  const data = join(home, 'data')
  rmSync(join(data, 'daemon.json'), { force: true })
  const start = performance.now()
  const child = fork(program, ['--data-dir', data, '--port', '0'], {
    env: environment(home),
    execArgv: ['--import', new URL('./daemon-probe.mjs', import.meta.url).href, ...profiling()],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const { port, token } = await untilReady(child, data)
  return {
    pid: child.pid ?? 0,
    port,
    token,
    readyMs: performance.now() - start,
    ask: (method, path, body) => ask({ port, token }, method, path, body),
    use: (options = { watchLoop: false }) => answerOf<Usage>(child, options),
    async end(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill(signal)
      await gone
    },
  }
}

export async function startModel(): Promise<Model> {
  const child = fork(fileURLToPath(new URL('./scripted-model.mjs', import.meta.url)), { execArgv: [] })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    url: `http://127.0.0.1:${port}`,
    command: async (order) => (await answerOf<{ calls: number }>(child, order ?? {})).calls,
    close: () => child.kill(),
  }
}

export type Crowd = { projectId: string; taskIds: string[] }

/** Has so many agents launched, each with a worktree of its own, and waits until all of them are parked. */
export async function parkAgents(daemon: Daemon, home: string, agents: number): Promise<Crowd> {
  const { id: projectId } = await daemon.ask<{ id: string }>('POST', '/api/projects', {
    path: join(home, 'shop'),
    setup: { choice: 'none' },
  })
  const taskIds: string[] = []
  for (let n = 0; n < agents; n += 1) {
    const title = `Agent ${n}`
    const { id } = await daemon.ask<{ id: string }>('POST', `/api/projects/${projectId}/tasks`, { title })
    taskIds.push(id)
  }
  const crowd = { projectId, taskIds }
  await tellAll(daemon, crowd, 'Wait for me.')
  await untilAll(daemon, crowd, 'waiting')
  return crowd
}

export async function tellAll(daemon: Daemon, { projectId, taskIds }: Crowd, text: string): Promise<void> {
  for (const id of taskIds) await daemon.ask('POST', `/api/projects/${projectId}/tasks/${id}/message`, { text })
}

type TaskState = { id: string; activity: string; problem: { message: string } | null }

export async function untilAll(daemon: Daemon, { projectId, taskIds }: Crowd, activity: string): Promise<void> {
  for (const end = Date.now() + 600_000; Date.now() < end; await sleep(500)) {
    await approveAll(daemon, projectId)
    const tasks = await daemon.ask<TaskState[]>('GET', `/api/projects/${projectId}/tasks`)
    const agents = tasks.filter(({ id }) => taskIds.includes(id))
    const blocked = agents.find(({ problem }) => problem)
    if (blocked) throw new Error(`an agent is blocked: ${blocked.problem?.message}`)
    if (agents.every((task) => task.activity === activity)) return
  }
  throw new Error(`not all agents are ${activity}`)
}

type Approval = { id: string; approval?: { inputDigest: string } }

/** A new repository may run nothing by itself; a person allows the script that sets up its worktrees. */
async function approveAll(daemon: Daemon, projectId: string): Promise<void> {
  for (const { id, approval } of await daemon.ask<Approval[]>('GET', `/api/attention?projectId=${projectId}`))
    if (approval)
      await daemon.ask('POST', `/api/projects/${projectId}/approvals/${encodeURIComponent(id)}`, {
        decision: 'allow',
        scope: 'always',
        inputDigest: approval.inputDigest,
      })
}

/** How many processes the daemon has started that still run. */
export function countChildren(pid: number): number {
  return readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && parentOf(entry) === pid).length
}

function parentOf(pid: string): number | undefined {
  try {
    // The name stands in brackets and may hold anything.
    return Number(
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[1],
    )
  } catch {
    return undefined
  }
}

function environment(home: string): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: home }
}

/** With MATRIX_BENCH_PROFILE=<folder>, where the daemon leaves what its time went into. */
function profiling(): string[] {
  const folder = process.env.MATRIX_BENCH_PROFILE
  return folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : []
}

async function untilReady(child: ChildProcess, data: string): Promise<{ port: number; token: string }> {
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(5)) {
    if (child.exitCode !== null) throw new Error(`the daemon ended with ${child.exitCode}`)
    const place = findDaemon(data)
    if (place && (await isReady(place.port))) return place
  }
  throw new Error('the daemon is not ready')
}

function findDaemon(data: string): { port: number; token: string } | undefined {
  const file = join(data, 'daemon.json')
  if (!existsSync(file)) return undefined
  const { port, tokenFile } = JSON.parse(readFileSync(file, 'utf8')) as { port: number; tokenFile: string }
  return { port, token: readFileSync(tokenFile, 'utf8').trim() }
}

function isReady(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/ready`).then(
    async (response) => ((await response.json()) as { ready: boolean }).ready === true,
    () => false,
  )
}

async function ask<Answer>(
  { port, token }: { port: number; token: string },
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return (response.status === 204 ? null : await response.json()) as Answer
}

/** Sends a message to a process that answers each of them. */
export async function answerOf<Answer>(child: ChildProcess, message: object): Promise<Answer> {
  const answer = once(child, 'message')
  child.send(message)
  const [value] = await answer
  return value as Answer
}
