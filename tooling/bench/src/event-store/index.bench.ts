import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openEventStore, openJsonlEventStore } from '@matrix/event-store'
import type { DurableEvent } from '@matrix/protocol'
import type { Benchmark, Figure } from '../figure.ts'

const sessions = Number(process.env.MATRIX_BENCH_SESSIONS ?? 1000)
const each = Number(process.env.MATRIX_BENCH_EACH ?? 1000)
const words = Array.from({ length: 30_000 }, (_, index) => `w${((index * 2654435761) >>> 0).toString(36)}`)

/** What a daemon waits for when it starts over a large data directory, with its index and without; and what a search takes. */
export const benchmark: Benchmark = {
  name: 'index over sessions',
  async measure() {
    const folder = mkdtempSync(join(tmpdir(), 'matrix-bench-'))
    try {
      await writeSessions(join(folder, 'sessions'))
      const rebuilding = await timed(() => openEventStore(folder))
      const loop = monitorEventLoopDelay({ resolution: 1 })
      loop.enable()
      const filling = await timed(() => rebuilding.result.index.catchUp())
      loop.disable()
      process.stderr.write(
        `full text of ${sessions * each} events in ${(filling.ms / 1000).toFixed(1)} s, in the background\n`,
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

async function writeSessions(folder: string): Promise<void> {
  const store = await openJsonlEventStore(folder, { durability: 'relaxed' })
  for (let n = 0; n < sessions; n += 1) {
    const fence = await store.claim(`s${n}`, 'bench')
    await store.append(
      `s${n}`,
      fence,
      Array.from({ length: each }, (_, index) => event(n, index)),
    )
    await store.release(`s${n}`, fence)
  }
  await store.close()
}

function word(rank: number): string {
  return words[rank] ?? 'w'
}

// Few words are common and most are rare, as in any language.
function text(length: number): string {
  let result = ''
  while (result.length < length) result += `${word(Math.floor(30_000 * Math.random() ** 4))} `
  return result
}

function event(session: number, n: number): DurableEvent {
  const stamp = { taskId: `s${session}`, ts: new Date(1_767_225_600_000 + n * 60_000).toISOString() }
  if (n % 10 === 0)
    return {
      type: 'turn_completed',
      ...stamp,
      model: `model-${session % 3}`,
      stopReason: 'tool_use',
      usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
      costUsd: 0.01,
    }
  if (n % 10 < 5)
    return { type: 'tool_call', ...stamp, callId: `c${n}`, name: 'mcp__mxd__bash', input: { command: text(400) } }
  return {
    type: 'tool_result',
    ...stamp,
    callId: `c${n - 5}`,
    content: [{ type: 'text', text: text(1400) }],
    isError: false,
  }
}
