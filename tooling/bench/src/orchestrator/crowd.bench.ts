import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Benchmark, Figure } from '../figure.ts'
import {
  answerOf,
  configure,
  makeHome,
  parkAgents,
  removeHome,
  startDaemon,
  startModel,
  tellAll,
  type Usage,
} from './arena.ts'
import type { Heard, Recorded, Watch } from './listeners.ts'

const agents = Number(process.env.MATRIX_BENCH_AGENTS ?? 200)
const clients = agents
/** Most people watch one agent; so many of them watch all. */
const watchAll = Math.ceil(clients / 20)
const settleMs = Number(process.env.MATRIX_BENCH_SETTLE_MS ?? 5000)
const watchedMs = Number(process.env.MATRIX_BENCH_WATCHED_MS ?? 15_000)

/** Many agents that all speak and act at once, before many eyes. */
export const benchmark: Benchmark = {
  name: 'crowd of agents',
  async measure() {
    const home = makeHome()
    const model = await startModel()
    const listeners = startScript('listeners.ts')
    configure(home, model)
    const daemon = await startDaemon(home)
    try {
      const crowd = await parkAgents(daemon, home, agents)
      const taskIds = Array.from({ length: clients }, (_, n) => (n < watchAll ? null : (crowd.taskIds[n] ?? null)))
      const watch = { port: daemon.port, token: daemon.token, projectId: crowd.projectId, taskIds }
      await answerOf(listeners, { watch } satisfies { watch: Watch })
      await model.command({ work: true })
      await tellAll(daemon, crowd, 'Begin.')
      await sleep(settleMs)
      await answerOf(listeners, { record: true })
      await daemon.use({ watchLoop: true })
      await sleep(watchedMs)
      const usage = await daemon.use()
      const heard = await answerOf<Heard>(listeners, { report: true })
      const toldAt = performance.now()
      await daemon.end('SIGTERM')
      const endedMs = performance.now() - toldAt
      const bareMs = await measureBare(home, listeners, watch, heard.frames)
      return [
        ...figuresOf(usage, heard, bareMs),
        allowed('until all of them were stopped in order', 'ms', endedMs, 5000),
      ]
    } finally {
      await daemon.end('SIGKILL')
      listeners.kill()
      model.close()
      removeHome(home)
    }
  },
}

function figuresOf({ cpuMs, rssBytes, loopP99Ms }: Usage, { p95Ms, deltas, frames }: Heard, bareMs: number): Figure[] {
  const perSecond = Math.round(frames.length / (watchedMs / 1000))
  process.stderr.write(
    `${agents} agents, ${clients} clients: ${perSecond} frames a second, ${deltas} pieces of text heard, ` +
      `${((cpuMs / watchedMs) * 100).toFixed(0)} % of a core\n`,
  )
  return [
    allowed(`event loop with ${agents} agents at work, 99th percentile`, 'ms', loopP99Ms, 50),
    allowed('from the model to whoever watches, 95th percentile', 'ms', p95Ms, 150),
    allowed('memory', 'MB', rssBytes / 1e6, 1500),
    {
      name: 'an event, from the model to disk and screens',
      unit: 'µs CPU',
      ours: (cpuMs * 1000) / frames.length,
      floor: (bareMs * 1000) / frames.length,
      against: 'bare write and SSE',
      limit: 2,
    },
  ]
}

async function measureBare(home: string, listeners: ChildProcess, watch: Watch, frames: Recorded[]): Promise<number> {
  const folder = join(home, 'bare')
  mkdirSync(folder)
  const server = startScript('bare-server.ts', folder)
  try {
    const [{ port }] = (await once(server, 'message')) as [{ port: number }]
    await answerOf(listeners, { watch: { ...watch, port } })
    await answerOf(listeners, { record: true })
    return (await answerOf<{ cpuMs: number }>(server, { frames })).cpuMs
  } finally {
    server.kill()
  }
}

function startScript(name: string, ...args: string[]): ChildProcess {
  return fork(fileURLToPath(new URL(name, import.meta.url)), args, { execArgv: ['--import', 'tsx'] })
}

function allowed(name: string, unit: string, ours: number, floor: number): Figure {
  return { name, unit, ours, floor, against: 'allowed', limit: 1 }
}
