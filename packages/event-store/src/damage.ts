import { MatrixError } from '@matrix/protocol'
import type { Bytes } from './bytes.ts'
import type { OpenFile } from './file-system.ts'
import { findSum, lineHolds, SUM_CONTEXT, SUM_TAIL, statedSeq } from './line.ts'
import { type Range, readBytes, readSpans } from './span.ts'

/** What is wrong with a session's file, and where. `fix` is there when one bit explains everything. */
export type Damage = {
  kind: 'flipped' | 'edited' | 'missing' | 'reordered' | 'repeated' | 'unreadable' | 'shortened' | 'foreign'
  file: string
  /** Counted from 1; the line with seq n is line n + 1. */
  line: number
  message: string
  fix?: { offset: number; byte: number }
}

export function corrupt(damage: Damage): MatrixError {
  return new MatrixError('SESSION_CORRUPT', `${damage.file}:${damage.line}: ${damage.message}`, { cause: damage })
}

/** The damage behind a SESSION_CORRUPT error. */
export function findDamage(error: unknown): Damage | undefined {
  return error instanceof MatrixError && error.code === 'SESSION_CORRUPT' ? (error.cause as Damage) : undefined
}

/** Says what happened to the line at `range.from`, which should have been `seq`: everything before it holds. */
export async function describeDamage(file: OpenFile, path: string, seq: number, range: Range): Promise<Damage> {
  const place = { file: path, line: seq + 1 }
  const bytes = await readBytes(file, { from: range.from, to: Math.min(range.to, range.from + NEAR) })
  const newline = bytes.indexOf(10)
  const line = bytes.subarray(0, newline < 0 ? bytes.byteLength : newline)
  const previousSum = seq === 0 ? undefined : await readSumBefore(file, range.from)

  const fix = findFlippedBit({ bytes, line, previousSum, seq })
  if (fix)
    return {
      kind: 'flipped',
      ...place,
      message: `one bit of byte ${fix.at + 1} is flipped (it reads ${fix.is}, and was ${fix.was})`,
      fix: { offset: range.from + fix.at, byte: fix.was },
    }

  const stated = statedSeq(line)
  if (stated === undefined || findSum(line) === undefined)
    return { kind: 'unreadable', ...place, message: unreadable(line) }
  if (stated === seq) return { kind: 'edited', ...place, message: 'the line was changed after it was written' }
  if (stated < seq) return { kind: 'repeated', ...place, message: `event ${stated} stands here a second time` }
  if (await holdsSeq(file, seq, range))
    return { kind: 'reordered', ...place, message: `event ${stated} stands where event ${seq} belongs` }
  return { kind: 'missing', ...place, message: `${missing(seq, stated)} missing here` }
}

/** The sum that the line before this offset states. */
export async function readSumBefore(file: OpenFile, offset: number): Promise<string> {
  const context = await readBytes(file, { from: Math.max(0, offset - SUM_CONTEXT), to: offset })
  return context.toString('latin1', 0, SUM_CONTEXT - 3)
}

// Trying every bit is quadratic in the length of the line; past this it takes longer than anyone waits.
const NEAR = 8 * 1024

type Suspect = { bytes: Bytes; line: Bytes; previousSum: string | undefined; seq: number }
type Flip = { at: number; is: number; was: number }

function findFlippedBit(suspect: Suspect): Flip | undefined {
  const { bytes, line } = suspect
  if (line.byteLength === bytes.byteLength && line.byteLength === NEAR) return undefined
  return findFlip(suspect, line, line.byteLength) ?? findLostNewline(suspect) ?? findFalseNewline(suspect)
}

function findFlip({ previousSum, seq }: Suspect, line: Bytes, length: number): Flip | undefined {
  const copy = Buffer.from(line.subarray(0, length))
  for (let at = 0; at < length; at++) {
    const is = copy[at] as number
    for (let bit = 1; bit < 256; bit <<= 1) {
      copy[at] = is ^ bit
      if (lineHolds(copy, seq, previousSum)) return { at, is, was: is ^ bit }
    }
    copy[at] = is
  }
  return undefined
}

// The newline itself was hit: two lines have become one.
function findLostNewline({ line, previousSum, seq }: Suspect): Flip | undefined {
  for (let at = SUM_TAIL; at < line.byteLength; at++) {
    const is = line[at] as number
    if (isOneBit(is ^ 10) && lineHolds(line.subarray(0, at), seq, previousSum)) return { at, is, was: 10 }
  }
  return undefined
}

// Some other byte was hit and became a newline: one line has become two.
function findFalseNewline({ bytes, line, previousSum, seq }: Suspect): Flip | undefined {
  const at = line.byteLength
  const end = bytes.indexOf(10, at + 1)
  if (end < 0) return undefined
  const joined = Buffer.from(bytes.subarray(0, end))
  for (let bit = 1; bit < 256; bit <<= 1) {
    joined[at] = 10 ^ bit
    if (lineHolds(joined, seq, previousSum)) return { at, is: 10, was: 10 ^ bit }
  }
  return undefined
}

function isOneBit(value: number): boolean {
  return value !== 0 && (value & (value - 1)) === 0
}

async function holdsSeq(file: OpenFile, seq: number, range: Range): Promise<boolean> {
  const wanted = Buffer.from(`\n{"seq":${seq},`)
  for await (const { bytes, start, end } of readSpans(file, range)) {
    if (bytes.subarray(Math.max(0, start - 1), end).includes(wanted)) return true
  }
  return false
}

function unreadable(line: Bytes): string {
  if (line.includes(0)) return 'the line holds zero bytes, as a failing disk leaves them'
  return 'the line is not one that Matrix wrote, or more than one bit of it is damaged'
}

function missing(seq: number, stated: number): string {
  return stated - seq === 1 ? `event ${seq} is` : `events ${seq} to ${stated - 1} are`
}
