import type { ServerResponse } from 'node:http'
import { type Entry, type Filter, formatFrame } from './entry.ts'
import type { Ring } from './ring.ts'
import type { LogBytes, SessionFollower } from './session-follower.ts'
import type { Start } from './start-position.ts'

/** What is written at once, so that one slow reader never holds more than about this in memory. */
const batchBytes = 256 * 1024

export type Reader = {
  filter: Filter
  /** Sends what has come since, unless the connection is not ready for more. */
  pump(batches: Batches): void
  /** A sign of life; a connection that has taken nothing for too long is given up. */
  beat(): void
  end(): void
}

/** Bytes from a position on, made once for all readers that are at the same place with the same filter. */
export type Batches = {
  take(filter: Filter, position: number): Batch
}
export type Batch = { bytes: Buffer | undefined; next: number }

export type ReaderOptions = {
  ring: Ring
  filter: Filter
  start: Start
  follower: SessionFollower | undefined
  /** What of the log has been read already; nothing when the ring has all that is missing. */
  firstPage: LogBytes | undefined
  response: ServerResponse
  batches: Batches
  /** Told when the log of the session cannot be read; the connection ends then. */
  onFailure(error: unknown): void
}

/**
 * One client of the stream. It holds no backlog of its own: it remembers its position in the ring, and when it has fallen out
 * of it, it is told so and goes on with what is new.
 */
export function openReader(options: ReaderOptions): Reader {
  const { ring, filter, start, follower, firstPage, response, batches, onFailure } = options
  let { position } = start
  let isBusy = false
  let isSilent = true
  let missedBeats = 0

  const isOver = () => response.destroyed || response.writableEnded
  const write = (bytes: Buffer) => {
    isSilent = false
    return !isOver() && response.write(bytes)
  }

  const drained = () => {
    missedBeats = 0
    isBusy = false
    pump(batches)
  }

  const tell = (reason: 'start' | 'restarted' | 'too_slow' | 'too_old') => {
    // While a session is caught up with, no position holds yet.
    const cursor = follower ? undefined : `${ring.epoch}.${position - 1}`
    write(formatFrame({ kind: 'resync', reason }, cursor))
  }

  const catchUp = async (session: SessionFollower, first?: LogBytes) => {
    isBusy = true
    const from = position
    for (let page = first ?? (await session.readOn()); !isOver(); page = await session.readOn()) {
      if (page.bytes.length > 0 && !write(page.bytes)) await whenDrained(response)
      if (!page.more) break
    }
    session.rejoin(from)
    drained()
  }

  const fallBehind = () => {
    position = ring.head()
    tell('too_slow')
    if (follower) catchUp(follower).catch(fail)
  }

  const fail = (error: unknown) => {
    onFailure(error)
    response.end()
  }

  const pump = (shared: Batches) => {
    while (!isBusy && position < ring.head()) {
      if (position < ring.oldest()) {
        fallBehind()
        continue
      }
      const batch = follower
        ? collect(ring, { filter, from: position, accepts: follower.accepts })
        : shared.take(filter, position)
      position = batch.next
      if (batch.bytes && !write(batch.bytes)) {
        isBusy = true
        response.once('drain', drained)
      }
    }
  }

  if (start.resync) tell(start.resync)
  if (follower && firstPage) catchUp(follower, firstPage).catch(fail)

  return {
    filter,
    pump,
    beat() {
      if (response.writableNeedDrain) missedBeats += 1
      else if (isSilent) write(heartbeat)
      isSilent = true
      if (missedBeats > 4) response.destroy()
    },
    end: () => response.end(),
  }
}

const heartbeat = Buffer.from(':\n\n')

/** The matching frames from a position on, about as many as are written at once. */
export function collect(
  ring: Ring,
  { filter, from, accepts }: { filter: Filter; from: number; accepts(entry: Entry): boolean },
): Batch {
  const parts: Buffer[] = []
  let bytes = 0
  let next = from
  for (const entry of candidates(ring, filter, from)) {
    if (bytes >= batchBytes) return { bytes: Buffer.concat(parts, bytes), next }
    next = entry.position + 1
    if (!accepts(entry)) continue
    parts.push(entry.bytes)
    bytes += entry.bytes.length
  }
  return { bytes: parts.length > 1 ? Buffer.concat(parts, bytes) : parts[0], next: ring.head() }
}

/** Most readers watch one task, and need not look at what the others do. */
function candidates(ring: Ring, { taskId }: Filter, from: number): Iterable<Entry> {
  return taskId === undefined ? allFrom(ring, from) : ring.ofTask(taskId, from)
}

function* allFrom(ring: Ring, from: number): Generator<Entry> {
  for (let position = from; position < ring.head(); position += 1) yield ring.at(position)
}

function whenDrained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.on('drain', done)
    response.on('close', done)
  })
}
