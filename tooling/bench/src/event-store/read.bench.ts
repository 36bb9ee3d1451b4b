import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EventStore, openJsonlEventStore } from '@matrix/event-store'
import type { DurableEvent } from '@matrix/protocol'
import { type Benchmark, interleave } from '../figure.ts'

const count = Number(process.env.MATRIX_BENCH_EVENTS ?? 1_000_000)
const perSession = 20_000
/** What is read at a time: short enough that a machine that gets slower meets both sides. */
const parts = 5

/** What the checks cost when everything is read, and whether resuming depends on how long a session has lived. */
export const benchmark: Benchmark = {
  name: 'reading sessions',
  async measure() {
    const folder = mkdtempSync(join(tmpdir(), 'matrix-bench-'))
    try {
      await writeSessions(folder)
      const store = await openJsonlEventStore(folder)
      const times = await interleave(3 * parts, {
        floor: turns((ids) => ids.map((id) => parseFile(join(folder, `${id}.jsonl`)))),
        ours: turns((ids) => readAll(store, ids)),
        short: () => readActive(folder, 'short'),
        long: () => readActive(folder, 'long'),
      })
      await store.close()
      return [
        {
          name: `read ${count} events of about 1 kB`,
          unit: 'µs/event',
          ours: (times.ours * parts * 1000) / count,
          floor: (times.floor * parts * 1000) / count,
          against: 'read + split + JSON.parse',
          limit: 1.3,
        },
        {
          name: 'readActive of 200 events after 40,000 compacted ones',
          unit: 'ms',
          ours: times.long,
          floor: times.short,
          against: 'the same after 400',
          limit: 1.5,
        },
      ]
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}

async function writeSessions(folder: string): Promise<void> {
  const store = await openJsonlEventStore(folder, { durability: 'relaxed' })
  for (let n = 0; n < count / perSession; n += 1) {
    const fence = await store.claim(`s${n}`, 'bench')
    for (let k = 0; k < perSession; k += 500)
      await store.append(
        `s${n}`,
        fence,
        Array.from({ length: 500 }, (_, index) => event(k + index)),
      )
    await store.release(`s${n}`, fence)
  }
  for (const [id, before] of [
    ['short', 400],
    ['long', 40_000],
  ] as const) {
    const fence = await store.claim(id, 'bench')
    for (let k = 0; k < before; k += 400)
      await store.append(
        id,
        fence,
        Array.from({ length: 400 }, (_, index) => event(k + index)),
      )
    await store.append(id, fence, [
      { type: 'compact_marker', taskId: 'bench', ts: '2026-01-01T00:00:00.000Z', checkpoint: 'all of it' },
      ...Array.from({ length: 200 }, (_, index) => event(index)),
    ])
  }
  await store.close()
}

async function readAll(store: EventStore, ids: string[]): Promise<void> {
  let seen = 0
  for (const id of ids) for await (const batch of store.read(id)) seen += batch.length
  if (seen !== ids.length * perSession) throw new Error(`read ${seen} of ${ids.length * perSession} events`)
}

/** Reads a part of all sessions at each call, one after another. */
function turns(read: (ids: string[]) => unknown): () => unknown {
  const all = Array.from({ length: count / perSession }, (_, index) => `s${index}`)
  let turn = 0
  return () => {
    turn += 1
    return read(all.filter((_, index) => index % parts === turn % parts))
  }
}

async function readActive(folder: string, id: string): Promise<void> {
  const store = await openJsonlEventStore(folder)
  for (let n = 0; n < 10; n += 1) {
    const events = await store.readActive(id)
    if (events.length !== 201) throw new Error(`${events.length} active events`)
  }
  await store.close()
}

function parseFile(file: string): number {
  const descriptor = openSync(file, 'r')
  const bytes = Buffer.alloc(4 * 1024 * 1024)
  let held = 0
  let parsed = 0
  for (;;) {
    const read = readSync(descriptor, bytes, held, bytes.byteLength - held, null)
    if (read === 0) break
    const length = held + read
    let at = 0
    for (let newline = bytes.indexOf(10); newline >= 0 && newline < length; newline = bytes.indexOf(10, at)) {
      if (JSON.parse(bytes.toString('utf8', at, newline))) parsed += 1
      at = newline + 1
    }
    bytes.copyWithin(0, at, length)
    held = length - at
  }
  closeSync(descriptor)
  return parsed
}

function event(n: number): DurableEvent {
  return {
    type: 'tool_result',
    taskId: '01K0000000000000000000BENCH',
    ts: '2026-01-01T00:00:00.000Z',
    callId: `call-${n}`,
    content: [{ type: 'text', text: `${n} ${'the quick brown fox '.repeat(40)}` }],
    isError: false,
  }
}
