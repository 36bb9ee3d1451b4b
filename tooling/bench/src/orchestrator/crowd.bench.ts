import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Benchmark, type Figure, median } from '../figure.ts'
import {
  answerOf,
  type Crowd,
  configure,
  type Daemon,
  type Model,
  makeHome,
  parkAgents,
  removeHome,
  startDaemon,
  startModel,
  tellAll,
  type Usage,
  untilAll,
} from './arena.ts'
import type { Heard, Watch } from './listeners.ts'

const agents = Number(process.env.MATRIX_BENCH_AGENTS ?? 200)
const clients = agents
/** Most people watch one agent; so many of them watch all. */
const watchAll = Math.ceil(clients / 20)
const settleMs = 5000
const watchedMs = Number(process.env.MATRIX_BENCH_WATCHED_MS ?? 8000)
/** Both sides in turns, so that both are warm and a machine that gets slower meets both. */
const rounds = 3

/** Many agents that all speak and act at once, before many eyes. */
export const benchmark: Benchmark = {
  name: 'crowd of agents',
  async measure() {
    const home = makeHome()
    const model = await startModel()
    const listeners = startScript('listeners.ts')
    const bare = await startBare(home)
    configure(home, model)
    const daemon = await startDaemon(home)
    try {
      const crowd = await parkAgents(daemon, home, agents)
      const taskIds = Array.from({ length: clients }, (_, n) => (n < watchAll ? null : (crowd.taskIds[n] ?? null)))
      const watch = { port: daemon.port, token: daemon.token, projectId: crowd.projectId, taskIds }
      const heard: Round[] = []
      let endedMs = 0
      for (let round = 0; round < rounds; round += 1) {
        await answerOf(listeners, { watch } satisfies { watch: Watch })
        await model.command({ work: true })
        await tellAll(daemon, crowd, 'Begin.')
        await sleep(settleMs)
        await answerOf(listeners, { record: true })
        await daemon.use({ watchLoop: true })
        await sleep(watchedMs)
        const usage = await daemon.use()
        const { frames, ...rest } = await answerOf<Heard>(listeners, { report: true })
        if (round === rounds - 1) endedMs = await endInOrder(daemon)
        else await park(daemon, crowd, model)
        await answerOf(listeners, { watch: { ...watch, port: bare.port } })
        const { cpuMs } = await answerOf<{ cpuMs: number }>(bare.server, { frames })
        heard.push({ ...rest, ...usage, frames: frames.length, bareMs: cpuMs })
      }
      return [...figuresOf(heard), allowed('until all of them were stopped in order', 'ms', endedMs, 5000)]
    } finally {
      await daemon.end('SIGKILL')
      bare.server.kill()
      listeners.kill()
      model.close()
      removeHome(home)
    }
  },
}

/** What was used and heard while all were at work, and what the least that does the same used for it. */
type Round = Usage & Pick<Heard, 'p95Ms' | 'deltas'> & { frames: number; bareMs: number }

async function endInOrder(daemon: Daemon): Promise<number> {
  const toldAt = performance.now()
  await daemon.end('SIGTERM')
  return performance.now() - toldAt
}

async function park(daemon: Daemon, crowd: Crowd, model: Model): Promise<void> {
  await model.command({ work: false })
  await untilAll(daemon, crowd, 'waiting')
}

function figuresOf(heard: Round[]): Figure[] {
  for (const { frames, deltas, cpuMs, bareMs } of heard)
    process.stderr.write(
      `${agents} agents, ${clients} clients: ${Math.round(frames / (watchedMs / 1000))} frames a second, ${deltas} pieces ` +
        `of text heard, ${((cpuMs / watchedMs) * 100).toFixed(0)} % of a core, ${((cpuMs * 1000) / frames).toFixed(0)} µs ` +
        `an event against ${((bareMs * 1000) / frames).toFixed(0)}\n`,
    )
  const middle = (value: (round: Round) => number) => median(heard.map(value))
  return [
    allowed(
      `event loop with ${agents} agents at work, 99th percentile`,
      'ms',
      middle(({ loopP99Ms }) => loopP99Ms),
      50,
    ),
    allowed(
      'from the model to whoever watches, 95th percentile',
      'ms',
      middle(({ p95Ms }) => p95Ms),
      150,
    ),
    allowed('memory', 'MB', Math.max(...heard.map(({ rssBytes }) => rssBytes)) / 1e6, 1500),
    {
      name: 'an event, from the model to disk and screens',
      unit: 'µs CPU',
      ours: middle(({ cpuMs, frames }) => (cpuMs * 1000) / frames),
      floor: middle(({ bareMs, frames }) => (bareMs * 1000) / frames),
      against: 'bare write and SSE',
      limit: 2,
    },
  ]
}

async function startBare(home: string): Promise<{ server: ChildProcess; port: number }> {
  const folder = join(home, 'bare')
  mkdirSync(folder)
  const server = startScript('bare-server.ts', folder)
  const [{ port }] = (await once(server, 'message')) as [{ port: number }]
  return { server, port }
}

function startScript(name: string, ...args: string[]): ChildProcess {
  return fork(fileURLToPath(new URL(name, import.meta.url)), args, { execArgv: ['--import', 'tsx'] })
}

function allowed(name: string, unit: string, ours: number, floor: number): Figure {
  return { name, unit, ours, floor, against: 'allowed', limit: 1 }
}
