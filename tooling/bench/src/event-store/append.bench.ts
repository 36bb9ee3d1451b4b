import { closeSync, fdatasync, mkdtempSync, openSync, rmSync, write } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EventStore, openEventStore, openJsonlEventStore } from '@matrix/event-store'
import type { DurableEvent } from '@matrix/protocol'
import { type Benchmark, interleave } from '../figure.ts'

const sessions = 50
const each = 40
const sequential = 200

/** What waiting for the disk costs: many agents that share it, and one alone. */
export const benchmark: Benchmark = {
  name: 'durable append',
  async measure() {
    const folder = mkdtempSync(join(tmpdir(), 'matrix-bench-'))
    const floor = openFloor(folder)
    const ours = await openOurs(await openJsonlEventStore(join(folder, 'sessions')))
    const indexed = await openOurs(await openEventStore(join(folder, 'indexed')))
    try {
      const times = await interleave(15, {
        floorMany: () => appendAll(floor.append, sessions, each),
        many: () => appendAll(ours.append, sessions, each),
        manyIndexed: () => appendAll(indexed.append, sessions, each),
        floorOne: () => appendAll(floor.append, 1, sequential),
        one: () => appendAll(ours.append, 1, sequential),
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
          name: 'the same, while the index and the search read along',
          unit: 'µs/event',
          ours: (times.manyIndexed * 1000) / (sessions * each),
          floor: (times.floorMany * 1000) / (sessions * each),
          against: 'hand-written group commit',
          limit: 1.5,
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
      await ours.close()
      await indexed.close()
      floor.close()
      rmSync(folder, { recursive: true })
    }
  },
}

type Append = (session: number, event: DurableEvent) => Promise<unknown>

async function appendAll(append: Append, count: number, events: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, async (_, session) => {
      for (let n = 0; n < events; n += 1) await append(session, event(n))
    }),
  )
}

async function openOurs(store: EventStore): Promise<{ append: Append; close(): Promise<void> }> {
  const fences = await Promise.all(Array.from({ length: sessions }, (_, n) => store.claim(`s${n}`, 'bench')))
  return {
    append: (session, one) => store.append(`s${session}`, fences[session] ?? { owner: '', epoch: 0 }, [one]),
    close: () => store.close(),
  }
}

/** One file per session, one write and one sync for each event, at most eight at once: the least that is correct here. */
function openFloor(folder: string): { append: Append; close(): void } {
  const gate = openGate(8)
  const descriptors = Array.from({ length: sessions }, (_, n) => openSync(join(folder, `floor-${n}`), 'a'))
  return {
    append: (session, one) => gate(() => writeDurably(descriptors[session] ?? -1, `${JSON.stringify(one)}\n`)),
    close: () => descriptors.forEach(closeSync),
  }
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
  const text = `${n} ${'word '.repeat(180)}`
  return { type: 'assistant_text', taskId: 'bench', ts: '2026-01-01T00:00:00.000Z', text }
}
