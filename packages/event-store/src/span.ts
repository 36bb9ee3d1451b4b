import type { Bytes } from './bytes.ts'
import type { Span } from './chain.ts'
import type { OpenFile } from './file-system.ts'
import { SUM_CONTEXT } from './line.ts'

export type Range = { from: number; to: number }

/** Whole lines of a file, and where in the file they begin. Good until the next but one is asked for. */
export type FileSpan = Omit<Span, 'seq'> & { offset: number }

const CHUNK = 1024 * 1024
/** Who wants a few lines must not wait for many, so the first chunks are small. */
const FIRST_CHUNK = CHUNK / 16

/**
 * Reads a range that starts and ends at line boundaries, a chunk at a time; the next chunk loads while one is used. Its
 * memory goes to the next reader when nobody looks at it any more, which `lookedAt` waits for.
 */
export async function* readSpans(
  file: OpenFile,
  { from, to }: Range,
  lookedAt: () => Promise<unknown> | undefined = () => undefined,
): AsyncGenerator<FileSpan> {
  const position = Math.max(0, from - SUM_CONTEXT)
  const pool = takeBuffers(to - position)
  let current = await fill(file, { bytes: pool.next(), position, length: 0, start: from - position }, to)
  let loading: Promise<Window> | undefined

  try {
    while (current.start < current.length) {
      const end = current.bytes.lastIndexOf(10, current.length - 1) + 1
      if (end <= current.start) {
        if (current.position + current.length >= to) return
        current = await fill(file, grown(current), to)
        continue
      }
      const more = current.position + current.length < to
      if (more) loading = fill(file, following(current, end, pool.next()), to)
      yield { bytes: current.bytes, start: current.start, end, offset: current.position + current.start }
      if (!more || !loading) return
      current = await loading
    }
  } finally {
    // A reader that stops early must not hand a buffer back while a read still fills it.
    await loading?.catch(() => undefined)
    await lookedAt()?.catch(() => undefined)
    pool.release()
  }
}

/** Reads exactly this range, or what there is of it. */
export async function readBytes(file: OpenFile, { from, to }: Range): Promise<Bytes> {
  const { bytes, length } = await fill(
    file,
    { bytes: Buffer.allocUnsafe(to - from), position: from, length: 0, start: 0 },
    to,
  )
  return bytes.subarray(0, length)
}

/** A buffer over part of a file: `length` bytes from `position` on, of which those before `start` are only context. */
type Window = { bytes: Bytes; position: number; length: number; start: number }

async function fill(file: OpenFile, window: Window, to: number): Promise<Window> {
  let { length } = window
  while (length < window.bytes.byteLength && window.position + length < to) {
    const room = Math.min(window.bytes.byteLength - length, to - window.position - length)
    const count = await file.read(window.bytes.subarray(length, length + room), window.position + length)
    if (count === 0) break
    length += count
  }
  return { ...window, length }
}

function following(window: Window, end: number, bytes: Bytes): Window {
  const keepFrom = Math.max(0, end - SUM_CONTEXT)
  const kept = window.length - keepFrom
  const target = bytes.byteLength > kept ? bytes : alloc(kept + CHUNK)
  window.bytes.copy(target, 0, keepFrom, window.length)
  return { bytes: target, position: window.position + keepFrom, length: kept, start: end - keepFrom }
}

function grown(window: Window): Window {
  const bytes = alloc(window.bytes.byteLength * 2)
  window.bytes.copy(bytes, 0, 0, window.length)
  return { ...window, bytes }
}

// Shared memory, so that another thread can check a chunk while this one parses it. Clearing fresh memory costs as much as
// reading a small session, so a few buffers are kept.
const alloc = (size: number) => Buffer.from(new SharedArrayBuffer(size))
const idle: Bytes[] = []

function takeBuffers(size: number): { next(): Bytes; release(): void } {
  // One buffer holds all of it, so there is nothing to alternate with.
  if (size < CHUNK / 8) return { next: () => Buffer.allocUnsafe(size), release: () => undefined }
  // One that is being filled, one that is parsed, and one before it that is still being checked.
  const rota: Bytes[] = []
  let taken = 0
  return {
    next() {
      const bytes = rota[taken % 3] ?? idle.pop() ?? alloc(CHUNK)
      rota[taken % 3] = bytes
      const reach = Math.min(CHUNK, FIRST_CHUNK * 4 ** taken)
      taken += 1
      return bytes.subarray(0, reach)
    },
    release() {
      if (idle.length < 9) idle.push(...rota.filter(Boolean))
    },
  }
}
