import { type DurableEvent, MatrixError } from '@matrix/protocol'
import { startsActive } from './active.ts'
import { type Carry, carryEvent, keptBy } from './carry.ts'
import type { Clock } from './clock.ts'
import { type FileSystem, hasErrorCode, type OpenFile } from './file-system.ts'
import { FORMAT_VERSION, formatHeader, formatLine, type Kept } from './line.ts'
import type { SyncLimit } from './sync-limit.ts'
import type { Tail } from './tail.ts'

/** `durable` survives a power cut from the moment an append resolves; `relaxed` survives a killed process, and a power cut after 100 ms. */
export type Durability = 'durable' | 'relaxed'

export type WriterOptions = {
  fileSystem: FileSystem
  clock: Clock
  limit: SyncLimit
  durability: Durability
  /** The disk has lost what it said it had; nothing in memory can be trusted to be on it. */
  onFatal(error: MatrixError): void
}

type SessionPlace = { path: string; directory: string; sessionId: string }

/** What the writer continues from: the end of the file as it is, and what a marker would have to name. */
export type WriteState = { tail: Tail; carry: Carry }

export type SessionWriter = {
  append(events: DurableEvent[]): Promise<number>
  /** Waits until everything that was asked for is written, or has failed. */
  idle(): Promise<void>
  close(): Promise<void>
}

type Append = {
  events: DurableEvent[]
  json: string[]
  bytes: number
  resolve(seq: number): void
  reject(error: unknown): void
}

const BATCH_BYTES = 8 * 1024 * 1024
const RELAXED_SYNC_MS = 100

/**
 * The only writer of one session. While one batch is on its way to the disk the next one collects, so that many appends
 * share one write and one sync.
 */
export function openSessionWriter(
  { path, directory, sessionId }: SessionPlace,
  options: WriterOptions & { load(): Promise<WriteState>; onWritten(tail: Tail): void },
): SessionWriter {
  const { fileSystem, clock, limit, durability } = options
  let queue: Append[] = []
  let draining: Promise<void> | undefined
  let state: WriteState | undefined
  let file: OpenFile | undefined
  let cutBackTo: number | undefined
  let cancelSync: (() => void) | undefined
  let syncing: Promise<void> | undefined

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      let batch: Append[] = []
      try {
        const seqs = await limit(() => {
          batch = takeBatch()
          return commit(batch)
        })
        for (const [index, append] of batch.entries()) append.resolve(seqs[index] as number)
      } catch (error) {
        for (const append of batch) append.reject(error)
        // A conversation that stops can be resumed, one with a hole cannot: what was queued behind a failure fails with it,
        // and so does what is sent before the senders can have heard of it.
        await new Promise((resolve) => setImmediate(resolve))
        for (const append of queue.splice(0)) append.reject(error)
      }
    }
    draining = undefined
  }

  function takeBatch(): Append[] {
    let count = 0
    for (let bytes = 0; count < queue.length && bytes < BATCH_BYTES; count += 1) bytes += queue[count]?.bytes ?? 0
    return queue.splice(0, count)
  }

  async function commit(batch: Append[]): Promise<number[]> {
    const target = await openTarget()
    await finishCut(target)
    state ??= await options.load()
    const before = state.tail
    const { text, tail, seqs } = formatBatch(batch, state, header)
    const bytes = Buffer.from(text)

    await writeWhole(target, bytes, before.size)
    if (durability === 'relaxed') syncLater(target)
    else if (before.size === 0) await keepName()
    state.tail = tail
    options.onWritten(tail)
    return seqs
  }

  async function openTarget(): Promise<OpenFile> {
    file ??= await fileSystem.open(path, durability === 'relaxed' ? 'write' : 'write-through').catch((error) => {
      throw storageError(`Cannot open ${path}`, error)
    })
    return file
  }

  async function writeWhole(target: OpenFile, bytes: Buffer, position: number): Promise<void> {
    try {
      const written = await target.write(bytes, position)
      // A full disk may take a part of the bytes and report success; only the next write would fail.
      if (written < bytes.byteLength) throw shortWrite(written, bytes.byteLength)
    } catch (error) {
      state = undefined
      cutBackTo = position
      // After anything but a lack of room the kernel may have forgotten bytes, and the next sync says that all is well.
      if (!hasErrorCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG')) throw fatal(error)
      await finishCut(target).catch(() => undefined)
      throw storageError(`Cannot write ${path}`, error)
    }
  }

  /** Takes back what a failed write left behind. Until that has worked, nothing is written after it. */
  async function finishCut(target: OpenFile): Promise<void> {
    if (cutBackTo === undefined) return
    try {
      await target.truncate(cutBackTo)
      await target.sync()
      cutBackTo = undefined
    } catch (error) {
      if (hasErrorCode(error, 'EIO')) throw fatal(error)
      throw storageError(`Cannot cut ${path} back to its last good line`, error)
    }
  }

  async function keepName(): Promise<void> {
    try {
      await fileSystem.syncDirectory(directory)
    } catch (error) {
      throw fatal(error)
    }
  }

  function syncLater(target: OpenFile): void {
    cancelSync ??= clock.after(RELAXED_SYNC_MS, () => {
      cancelSync = undefined
      syncing = syncRelaxed(target)
    })
  }

  async function syncRelaxed(target: OpenFile): Promise<void> {
    try {
      await target.sync()
      await fileSystem.syncDirectory(directory)
    } catch (error) {
      fatal(error)
    }
  }

  function fatal(error: unknown): MatrixError {
    const failure = new MatrixError('STORAGE_FAILED', `The disk failed under ${path}: ${reason(error)}`, {
      hint: 'Check the disk, then start again: everything that was acknowledged before is still there.',
      cause: error,
    })
    options.onFatal(failure)
    return failure
  }

  function header(): { line: string; sum: string } {
    const createdAt = new Date(clock.now()).toISOString()
    return formatHeader({ seq: 0, format: 'matrix-session', v: FORMAT_VERSION, sessionId, createdAt })
  }

  return {
    append(events) {
      const json = events.map(formatEvent)
      const bytes = json.reduce((sum, text) => sum + text.length, 0)
      return new Promise<number>((resolve, reject) => {
        queue.push({ events, json, bytes, resolve, reject })
        // Started a moment later, so that appends made in one go share their first sync too.
        draining ??= Promise.resolve().then(drain)
      })
    },
    async idle() {
      while (draining) await draining
    },
    async close() {
      while (draining) await draining
      queue = []
      if (cancelSync) {
        cancelSync()
        cancelSync = undefined
        await file?.sync().catch((error) => Promise.reject(fatal(error)))
        await fileSystem.syncDirectory(directory)
      }
      // A sync that finds its file closed would be taken for a failed disk.
      await syncing
      await file?.close()
      file = undefined
      state = undefined
    },
  }
}

/** The lines of several appends as one piece of text, each line chained to the one before. */
function formatBatch(
  batch: Append[],
  { tail, carry }: WriteState,
  header: () => { line: string; sum: string },
): { text: string; tail: Tail; seqs: number[] } {
  let { size, seq, sum = '' } = tail
  let text = ''
  const add = (next: { line: string; sum: string }) => {
    text += next.line
    size += Buffer.byteLength(next.line)
    sum = next.sum
    seq += 1
  }

  if (tail.size === 0) add(header())
  const seqs = batch.map(({ events, json }) => {
    events.forEach((event, index) => {
      const place: Kept = [seq + 1, size]
      const keeps = startsActive(event) ? keptBy(event, carry) : []
      add(formatLine({ seq: seq + 1, more: events.length - 1 - index, keeps }, json[index] as string, sum))
      carryEvent(carry, event, place)
    })
    return seq
  })
  return { text, tail: { size, seq, sum }, seqs }
}

function formatEvent(event: DurableEvent): string {
  const json = stringify(event)
  if (typeof event?.type !== 'string' || json === undefined)
    throw new MatrixError('EVENT_INVALID', 'An event is an object with a type.')
  if (json.length > EVENT_CHARACTERS)
    throw new MatrixError('EVENT_INVALID', `A ${event.type} of ${json.length} characters is too long to store.`, {
      hint: `Store at most ${EVENT_CHARACTERS} characters in one event; keep the rest in a file and name it.`,
    })
  return json
}

const EVENT_CHARACTERS = 64 * 1024 * 1024

function stringify(event: DurableEvent): string | undefined {
  try {
    return JSON.stringify(event)
  } catch (error) {
    throw new MatrixError('EVENT_INVALID', `A ${event.type} cannot be written as JSON: ${reason(error)}`, {
      cause: error,
    })
  }
}

function shortWrite(written: number, wanted: number): Error {
  return Object.assign(new Error(`only ${written} of ${wanted} bytes were taken`), { code: 'ENOSPC' })
}

/** Says what could not be done, why, and what to do about it. */
export function storageError(what: string, error: unknown): MatrixError {
  if (error instanceof MatrixError) return error
  const code = hasErrorCode(error, 'ENOSPC', 'EDQUOT', 'SQLITE_FULL') ? 'STORAGE_FULL' : 'STORAGE_FAILED'
  return new MatrixError(code, `${what}: ${reason(error)}`, { cause: error })
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
