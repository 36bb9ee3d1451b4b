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
const settleMs = 5000
const watchedMs = Number(process.env.MATRIX_BENCH_WATCHED_MS ?? 8000)
/** Both sides in turns, so that a machine that gets slower meets both. */
const rounds = 3

/** How many of the clients hear everything, as a page and `matrix tree -w` do; the others follow one task each. */
const audiences = [
  { name: 'an event, from the model to disk and screens', hearAll: clients / 2, limit: 2 },
  { name: 'the same, where nearly everybody follows one task', hearAll: clients / 20, limit: 2 },
]
type Audience = (typeof audiences)[number]

/** Many agents that all speak and act at once, before many eyes. */
export const benchmark: Benchmark = {
  name: 'crowd of agents',
  async measure() {
    const home = makeHome()
    const model = await startModel()
    const bare = await startBare(home)
    configure(home, model)
    const daemon = await startDaemon(home)
    const stage = { daemon, model, bare, listeners: startScript('listeners.ts') }
    try {
      const crowd = await parkAgents(daemon, home, agents)
      const heard: Round[] = []
      // The machine code of a daemon that has run for a while is made in the first minute.
      for (const audience of audiences) await perform(stage, crowd, audience)
      for (let round = 0; round < rounds; round += 1)
        for (const audience of audiences) heard.push(await perform(stage, crowd, audience))
      await startWork(stage, crowd)
      const endedMs = await endInOrder(daemon)
      return [...figuresOf(heard), allowed('until all of them were stopped in order', 'ms', endedMs, 5000)]
    } finally {
      await daemon.end('SIGKILL')
      bare.server.kill()
      stage.listeners.kill()
      model.close()
      removeHome(home)
    }
  },
}

type Stage = {
  daemon: Daemon
  model: Model
  listeners: ChildProcess
  bare: Awaited<ReturnType<typeof startBare>>
}

/** What was used and heard while all were at work, and what the least that does the same used for it. */
type Round = Usage & Pick<Heard, 'p95Ms' | 'deltas'> & { audience: Audience; frames: number; bareMs: number }

/** Everybody works before this audience; then the same frames go the shortest way, to the same audience. */
async function perform(stage: Stage, crowd: Crowd, audience: Audience): Promise<Round> {
  const { daemon, listeners, bare } = stage
  const taskIds = crowd.taskIds.map((taskId, index) => (index < audience.hearAll ? null : taskId))
  const watch: Watch = { port: daemon.port, token: daemon.token, projectId: crowd.projectId, taskIds }
  await answerOf(listeners, { watch })
  await startWork(stage, crowd)
  await answerOf(listeners, { record: true })
  await daemon.use({ watchLoop: true })
  await sleep(watchedMs)
  const usage = await daemon.use()
  const { frames, ...rest } = await answerOf<Heard>(listeners, { report: true })
  await park(daemon, crowd, stage.model)
  await answerOf(listeners, { watch: { ...watch, port: bare.port } })
  const { cpuMs } = await answerOf<{ cpuMs: number }>(bare.server, { frames })
  return { ...rest, ...usage, audience, frames: frames.length, bareMs: cpuMs }
}

async function startWork({ daemon, model }: Stage, crowd: Crowd): Promise<void> {
  await model.command({ work: true })
  await tellAll(daemon, crowd, 'Begin.')
  await sleep(settleMs)
}

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
  for (const { audience, frames, deltas, cpuMs, bareMs } of heard)
    process.stderr.write(
      `${agents} agents, ${clients} clients of whom ${audience.hearAll} hear everything: ` +
        `${Math.round(frames / (watchedMs / 1000))} frames a second, ${deltas} pieces of text heard, ` +
        `${((cpuMs / watchedMs) * 100).toFixed(0)} % of a core, ${((cpuMs * 1000) / frames).toFixed(0)} µs an event ` +
        `against ${((bareMs * 1000) / frames).toFixed(0)}\n`,
    )
  const middle = (value: (round: Round) => number, of = heard) => median(of.map(value))
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
    ...audiences.map((audience): Figure => {
      const before = heard.filter((round) => round.audience === audience)
      return {
        name: audience.name,
        unit: 'µs CPU',
        ours: middle(({ cpuMs, frames }) => (cpuMs * 1000) / frames, before),
        floor: middle(({ bareMs, frames }) => (bareMs * 1000) / frames, before),
        against: 'bare write and SSE',
        limit: audience.limit,
      }
    }),
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
