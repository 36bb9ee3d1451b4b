import type { ServerResponse } from 'node:http'
import { MatrixError } from '@matrix/protocol'
import type { Frame } from '@matrix/protocol/http'
import { openDeltaMerge } from './delta-merge.ts'
import { type Filter, matches } from './entry.ts'
import { type Batch, type Batches, collect, openReader, type Reader } from './reader.ts'
import { openRing } from './ring.ts'
import { followSession, type ReadLog } from './session-follower.ts'
import { findStart } from './start-position.ts'

export type FeedOptions = {
  /** Differs from that of every other start of the daemon. */
  epoch: string
  onFailure?(error: unknown): void
  limits?: Partial<typeof usualLimits>
}

export type Subscription = {
  filter: Filter
  cursor?: string | undefined
  /** To follow one session without a hole: the last seq that is known, and how its log is read. */
  session?: { projectId: string; taskId: string; after: number; readLog: ReadLog } | undefined
  /** Asked again with every heartbeat; the stream ends when the reader may no longer listen. */
  isAllowed?(): boolean
}

export type Feed = {
  publish(frame: Frame): void
  /**
   * Prepares a stream from this moment on. What it answers with then streams to a response whose head has been written,
   * until either side ends it.
   */
  subscribe(subscription: Subscription): Promise<(response: ServerResponse) => void>
  /** Hangs up on readers that may no longer listen. */
  recheck(): void
  readers(): number
  close(): void
}

const usualLimits = { frames: 20_000, bytes: 32 * 1024 * 1024, readers: 1000, paceMs: 50, beatMs: 15_000 }

/** Everything that happens, to everyone who listens. */
export function openFeed({ epoch, onFailure = () => {}, limits = {} }: FeedOptions): Feed {
  const { frames, bytes, readers: most, paceMs, beatMs } = { ...usualLimits, ...limits }
  const ring = openRing(epoch, { frames, bytes })
  const readers = new Map<Reader, () => boolean>()
  let beats: NodeJS.Timeout | undefined
  let isScheduled = false
  let flushedAt = Number.NEGATIVE_INFINITY
  let waiting: NodeJS.Timeout | undefined

  const merge = openDeltaMerge(ring.push)
  const flush = () => {
    isScheduled = false
    flushedAt = performance.now()
    merge.release()
    const shared = openBatches()
    for (const reader of readers.keys()) reader.pump(shared)
  }
  /** What happens alone is sent at once; what happens all the time is sent together, so many times a second. */
  const publish = (frame: Frame) => {
    merge.push(frame)
    if (isScheduled) return
    isScheduled = true
    const waitMs = flushedAt + paceMs - performance.now()
    if (waitMs <= 0) setImmediate(flush)
    else waiting = setTimeout(flush, waitMs)
  }

  const take: Batches['take'] = (filter, from) =>
    collect(ring, { filter, from, accepts: (entry) => matches(filter, entry) })
  const openBatches = (): Batches => {
    const made = new Map<string, Batch>()
    return {
      take(filter, position) {
        const key = `${filter.projectId}/${filter.taskId}@${position}`
        const batch = made.get(key) ?? take(filter, position)
        made.set(key, batch)
        return batch
      },
    }
  }
  /** For readers that catch up alone, at a moment of their own. */
  const alone: Batches = { take }

  const recheck = () => {
    for (const [reader, isAllowed] of readers) if (!isAllowed()) reader.end()
  }
  const beat = () => {
    recheck()
    for (const reader of readers.keys()) reader.beat()
  }

  const leave = (reader: Reader) => {
    readers.delete(reader)
    if (readers.size > 0) return
    clearInterval(beats)
    beats = undefined
  }

  return {
    publish,
    async subscribe({ filter, cursor, session, isAllowed = () => true }) {
      if (readers.size >= most) throw new MatrixError('LIMIT_REACHED', `${most} streams are open already.`)
      const start = findStart(ring, cursor)
      const follower = session && followSession(ring, session)
      const continues = follower && start.resync === undefined && follower.continuesAt(start.position)
      const firstPage = follower && !continues ? await follower.readOn() : undefined

      return (response) => {
        if (response.destroyed) return
        // A connection may break at any moment; its end is noticed all the same.
        response.on('error', () => {})
        response.once('close', () => leave(reader))
        const reader = openReader({ ring, filter, start, follower, firstPage, response, batches: alone, onFailure })
        readers.set(reader, isAllowed)
        beats ??= setInterval(beat, beatMs)
        reader.pump(alone)
      }
    },
    recheck,
    readers: () => readers.size,
    close() {
      clearTimeout(waiting)
      flush()
      for (const reader of readers.keys()) reader.end()
      clearInterval(beats)
    },
  }
}
