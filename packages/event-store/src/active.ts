import type { DurableEvent } from '@matrix/protocol'
import type { Bytes } from './bytes.ts'
import type { OpenFile } from './file-system.ts'
import type { RewindMarker } from './fork.ts'
import { type Kept, parseLine } from './line.ts'
import { readBytes } from './span.ts'
import { readLineBefore } from './tail.ts'

/** Where the active part of a session begins, and what before it is still needed: after a rewind, also an earlier active part. */
export type ActiveStart = { offset: number; seq: number; keeps: Kept[]; rewind?: RewindMarker }

export function startsActive(event: DurableEvent): boolean {
  return event.type === 'compact_marker' || event.type === 'rewind_marker'
}

const needles = ['compact_marker', 'rewind_marker'].map((type) => Buffer.from(`"type":"${type}"`))
const NEEDLE_BYTES = Math.max(...needles.map(({ byteLength }) => byteLength))
const CHUNK = 256 * 1024

/** Finds the last marker of the first `size` bytes from their end, so that the cost grows with what is active only. */
export async function findActiveStart(file: OpenFile, size: number): Promise<ActiveStart> {
  for (let to = size; to > 0; ) {
    const from = Math.max(0, to - CHUNK)
    const found = await findMarker(file, from, Math.min(size, to + NEEDLE_BYTES), size)
    if (found) return found
    to = from
  }
  return { offset: 0, seq: 0, keeps: [] }
}

async function findMarker(file: OpenFile, from: number, to: number, size: number): Promise<ActiveStart | undefined> {
  const bytes = await readBytes(file, { from, to })
  for (let at = findLast(bytes, bytes.byteLength); at >= 0; at = at === 0 ? -1 : findLast(bytes, at - 1)) {
    const found = await readMarkerAround(file, from + at, size)
    if (found) return found
  }
  return undefined
}

function findLast(bytes: Bytes, from: number): number {
  return Math.max(...needles.map((needle) => bytes.lastIndexOf(needle, from)))
}

// The same words may stand inside a tool's input, so the line itself has the last word.
async function readMarkerAround(file: OpenFile, offset: number, size: number): Promise<ActiveStart | undefined> {
  const end = await findNewline(file, offset, size)
  const line = await readLineBefore(file, end)
  const parsed = line && parseLine(line.bytes.toString())
  if (!line || !parsed?.event || !startsActive(parsed.event)) return undefined
  const { seq, event, keeps = [] } = parsed
  return { offset: line.start, seq, keeps, ...(event.type === 'rewind_marker' && { rewind: event }) }
}

async function findNewline(file: OpenFile, offset: number, size: number): Promise<number> {
  for (let from = offset; from < size; from += CHUNK) {
    const newline = (await readBytes(file, { from, to: Math.min(size, from + CHUNK) })).indexOf(10)
    if (newline >= 0) return from + newline + 1
  }
  return size
}
