import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openEventStore } from '@matrix/event-store'
import type { Benchmark, Figure } from '../figure.ts'
import { word, writeSessions } from './made-up-sessions.ts'

const sessions = Number(process.env.MATRIX_BENCH_SESSIONS ?? 1000)
const each = Number(process.env.MATRIX_BENCH_EACH ?? 1000)

/** What a daemon waits for when it starts over a large data directory, with its index and without; and what a search takes. */
export const benchmark: Benchmark = {
  name: 'index over sessions',
  async measure() {
    const folder = mkdtempSync(join(tmpdir(), 'matrix-bench-'))
    try {
      await writeSessions(
        join(folder, 'sessions'),
        Array.from({ length: sessions }, (_, n) => ({ id: `s${n}`, events: each })),
      )
      const rebuilding = await timed(() => openEventStore(folder))
      const loop = monitorEventLoopDelay({ resolution: 1 })
      loop.enable()
      const [filling, meanwhile] = await measureFilling(rebuilding.result)
      loop.disable()
      process.stderr.write(
        `full text of ${sessions * each} events in ${(filling / 1000).toFixed(1)} s, in the background\n`,
      )
      const searches = await measureSearches(rebuilding.result)
      await rebuilding.result.close()
      const openings: number[] = []
      for (let n = 0; n < 5; n += 1) {
        const opening = await timed(() => openEventStore(folder))
        openings.push(opening.ms)
        await opening.result.close()
      }
      return [
        absolute(
          `open ${sessions} sessions, ${sessions * each} events, with the index`,
          percentile(openings, 0.5),
          300,
        ),
        absolute('the same, rebuilding the index', rebuilding.ms, 8000),
        absolute('search, 95th percentile', percentile(searches, 0.95), 50),
        absolute('search while words are read in, the longest', Math.max(...meanwhile), 250),
        absolute('event loop while words are read in, 99th percentile', loop.percentile(99) / 1e6, 50),
      ]
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}

function absolute(name: string, ours: number, floor: number): Figure {
  return { name, unit: 'ms', ours, floor, against: 'allowed', limit: 1 }
}

async function timed<Result>(work: () => Promise<Result>): Promise<{ result: Result; ms: number }> {
  const start = performance.now()
  const result = await work()
  return { result, ms: performance.now() - start }
}

type Store = Awaited<ReturnType<typeof openEventStore>>

/** How long it takes to read the words in, and how long each search takes that is made meanwhile. */
async function measureFilling({ index }: Store): Promise<[ms: number, searches: number[]]> {
  const searches: number[] = []
  let isFilled = false
  const filling = timed(() => index.catchUp()).finally(() => {
    isFilled = true
  })
  while (!isFilled) {
    searches.push((await timed(() => index.search(word(searches.length)))).ms)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return [(await filling).ms, searches]
}

async function measureSearches({ index }: Store): Promise<number[]> {
  const random = (below: number) => Math.floor(Math.random() * below)
  const queries = Array.from(
    { length: 100 },
    (_, n) =>
      [
        word(random(30_000)),
        `${word(random(200))} ${word(random(200))}`,
        `"${word(n)}"`,
        `${word(random(30_000)).slice(0, 4)}*`,
      ][n % 4] ?? '',
  )
  const times: number[] = []
  for (const [n, query] of queries.entries()) {
    const filter =
      n % 5 === 0 ? { sessionId: `s${random(sessions)}` } : n % 5 === 1 ? { types: ['tool_call' as const] } : {}
    times.push((await timed(() => index.search(query, filter))).ms)
  }
  return times
}

function percentile(values: number[], part: number): number {
  return values.sort((left, right) => left - right)[Math.floor(values.length * part)] ?? Number.NaN
}
