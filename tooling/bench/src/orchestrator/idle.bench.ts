import { setTimeout as sleep } from 'node:timers/promises'
import { type Benchmark, type Figure, median } from '../figure.ts'
import {
  configure,
  countChildren,
  type Daemon,
  type Model,
  makeHome,
  parkAgents,
  removeHome,
  startDaemon,
  startModel,
} from './arena.ts'

const agents = Number(process.env.MATRIX_BENCH_PARKED ?? 50)
const watchedMs = 20_000
const starts = 5

/** What the daemon costs when nothing happens: to start, with nobody in it, and with agents that wait. */
export const benchmark: Benchmark = {
  name: 'idle daemon',
  async measure() {
    const model = await startModel()
    try {
      return [...(await measureEmpty(model)), ...(await measureParked(model))]
    } finally {
      model.close()
    }
  },
}

async function measureEmpty(model: Model): Promise<Figure[]> {
  const ready: number[] = []
  const memory: number[] = []
  for (let n = 0; n < starts; n += 1)
    await withDaemon(model, async (daemon) => {
      ready.push(daemon.readyMs)
      await sleep(2000)
      memory.push((await daemon.use()).rssBytes / 1e6)
    })
  return [
    allowed('ready on an empty data directory', 'ms', median(ready), 500),
    allowed('memory with nobody in it', 'MB', median(memory), 94),
  ]
}

function measureParked(model: Model): Promise<Figure[]> {
  return withDaemon(model, async (daemon, home) => {
    await parkAgents(daemon, home, agents)
    // What the launches left behind is collected in its own time.
    await sleep(5000)
    const before = await model.command()
    await daemon.use()
    let processes = 0
    for (let waited = 0; waited < watchedMs; waited += 1000) {
      await sleep(1000)
      processes = Math.max(processes, countChildren(daemon.pid))
    }
    const { cpuMs, rssBytes } = await daemon.use()
    const calls = (await model.command()) - before
    return [
      { name: `model calls of ${agents} parked agents`, unit: 'calls', ours: calls, floor: 1, against: '', limit: 0 },
      { name: 'their tool processes', unit: 'processes', ours: processes, floor: 1, against: '', limit: 0 },
      allowed('their CPU', '%', (cpuMs / watchedMs) * 100, 0.5),
      allowed('memory with them in it', 'MB', rssBytes / 1e6, 191),
    ]
  })
}

async function withDaemon<T>(model: Model, work: (daemon: Daemon, home: string) => Promise<T>): Promise<T> {
  const home = makeHome()
  configure(home, model)
  const daemon = await startDaemon(home)
  try {
    return await work(daemon, home)
  } finally {
    await daemon.end('SIGTERM')
    removeHome(home)
  }
}

function allowed(name: string, unit: string, ours: number, floor: number): Figure {
  return { name, unit, ours, floor, against: 'allowed', limit: 1 }
}
