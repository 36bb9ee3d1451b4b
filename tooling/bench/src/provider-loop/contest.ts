import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Lets one agent take so many turns against the model at the URL. */
export type Contestant = (url: string, turns: number, agent: number) => Promise<void>

/** Runs as a process of its own, told what to do by its arguments, and prints what it cost. */
export async function contest(contestants: Record<string, () => Promise<Contestant> | Contestant>): Promise<void> {
  const [name = '', url = '', turns, agents] = process.argv.slice(2)
  const contestant = await contestants[name]?.()
  if (!contestant) throw new Error(`No contestant ${name}`)
  const result = await measure(contestant, url, Number(turns), Number(agents ?? 1))
  process.stdout.write(JSON.stringify(result), () => process.exit(0))
}

async function measure(contestant: Contestant, url: string, turns: number, agents: number): Promise<object> {
  // Warm: what is compared is a process that has been at work for a while.
  for (let loop = 0; loop < 4; loop += 1) await contestant(url, 100, -1)
  globalThis.gc?.()
  const rss = process.memoryUsage.rss()
  const delay = monitorEventLoopDelay({ resolution: 1 })
  // Watching the loop costs a little for every millisecond that passes: only where it is asked for.
  if (agents > 1) delay.enable()
  const cpu = process.cpuUsage()
  const start = performance.now()
  await Promise.all(Array.from({ length: agents }, (_, agent) => contestant(url, turns, agent)))
  const { user, system } = process.cpuUsage(cpu)
  const wall = performance.now() - start
  const total = turns * agents
  return {
    cpuMs: (user + system) / 1000 / total,
    turnsPerSecond: (total / wall) * 1000,
    stallMs: delay.max / 1e6,
    mbPerAgent: (process.memoryUsage.rss() - rss) / agents / 1024 / 1024,
  }
}
