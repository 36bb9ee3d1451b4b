import { closeSync, fdatasync, mkdtempSync, openSync, rmSync, write } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJsonlEventStore } from '@matrix/event-store'
import type { DurableEvent } from '@matrix/protocol'
import { type Benchmark, interleave } from '../figure.ts'

const sessions = 50
const each = 100
const sequential = 400

/** What waiting for the disk costs: many agents that share it, and one alone. */
export const benchmark: Benchmark = {
  name: 'durable append',
  async measure() {
    const folder = mkdtempSync(join(tmpdir(), 'matrix-bench-'))
    try {
      const times = await interleave(7, {
        floorMany: () => floorAppend(fresh(folder), sessions, each),
        many: () => storeAppend(fresh(folder), sessions, each),
        floorOne: () => floorAppend(fresh(folder), 1, sequential),
        one: () => storeAppend(fresh(folder), 1, sequential),
      })
      return [
        {
          name: `durable append, ${sessions} sessions at once`,
          unit: 'µs/event',
          ours: (times.many * 1000) / (sessions * each),
          floor: (times.floorMany * 1000) / (sessions * each),
          against: 'hand-written group commit',
          limit: 1.25,
        },
        {
          name: 'durable append, one session, one after another',
          unit: 'µs/event',
          ours: (times.one * 1000) / sequential,
          floor: (times.floorOne * 1000) / sequential,
          against: 'write + fdatasync',
          limit: 1.2,
        },
      ]
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}

let last = 0
function fresh(folder: string): string {
  last += 1
  return join(folder, `run-${last}`)
}

async function storeAppend(folder: string, count: number, events: number): Promise<void> {
  const store = await openJsonlEventStore(folder)
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const fence = await store.claim(`s${index}`, 'bench')
      for (let n = 0; n < events; n += 1) await store.append(`s${index}`, fence, [event(n)])
    }),
  )
  await store.close()
}

/** One file per session, the next batch collected while one is synced, at most eight syncs at once: the least that is correct. */
async function floorAppend(folder: string, count: number, events: number): Promise<void> {
  const gate = openGate(8)
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const descriptor = openSync(`${folder}-${index}`, 'w')
      for (let n = 0; n < events; n += 1) await gate(() => writeDurably(descriptor, `${JSON.stringify(event(n))}\n`))
      closeSync(descriptor)
    }),
  )
}

function writeDurably(descriptor: number, line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    write(descriptor, Buffer.from(line), (failed) =>
      failed ? reject(failed) : fdatasync(descriptor, (error) => (error ? reject(error) : resolve())),
    )
  })
}

function openGate(limit: number): (work: () => Promise<void>) => Promise<void> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    await work()
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }
}

function event(n: number): DurableEvent {
  return {
    type: 'assistant_text',
    taskId: 'bench',
    ts: '2026-01-01T00:00:00.000Z',
    text: `${n} ${'word '.repeat(180)}`,
  }
}
