import type { Bytes } from './bytes.ts'
import type { ChainChecker } from './chain.ts'
import { corrupt, type Damage, describeDamage, readSumBefore } from './damage.ts'
import type { OpenFile } from './file-system.ts'
import { findSum, lineHolds, parseLine, statedSeq } from './line.ts'
import { readBytes, readSpans } from './span.ts'

/** Where a session ends: everything up to `size` holds, and the next line continues from `seq` and `sum`. */
export type Tail = { size: number; seq: number; sum: string | undefined }

export const emptyTail: Tail = { size: 0, seq: -1, sum: undefined }

export type LineAt = { start: number; end: number; bytes: Bytes }

/**
 * Finds where the last whole append ends. What stands after it is what a crash cut short; nobody was told that it was
 * saved, so it never happened. A last line that is whole and yet wrong is no crash: that throws.
 */
export async function findTail(file: OpenFile, path: string, checker: ChainChecker): Promise<Tail> {
  const size = await file.size()
  let last = await readLineBefore(file, await findLineEnd(file, size))
  if (last && !(await holdsInPlace(file, last))) {
    const hole = await findHole(file, size)
    const whole = hole === undefined ? undefined : await readLineBefore(file, hole)
    if (hole === undefined || (whole && !(await holdsInPlace(file, whole))))
      throw corrupt(await findFirstDamage(file, path, checker, last.end))
    // One zero may also be a space that lost its only bit, in a line that somebody was told is saved.
    const damage = await describeDamage(file, path, whole ? (statedSeq(whole.bytes) ?? 0) + 1 : 0, {
      from: hole,
      to: size,
    })
    if (damage.kind === 'flipped') throw corrupt(damage)
    last = whole
  }

  last = last && (await skipHalfAppend(file, last))
  if (!last) return emptyTail
  return { size: last.end, seq: statedSeq(last.bytes) ?? -1, sum: findSum(last.bytes) }
}

/** Checks the whole file from its first line. */
async function findFirstDamage(file: OpenFile, path: string, checker: ChainChecker, to: number): Promise<Damage> {
  let seq = 0
  for await (const span of readSpans(file, { from: 0, to })) {
    const { lines, badAt } = await checker.check({ ...span, seq })
    seq += lines
    if (badAt === undefined) continue
    return describeDamage(file, path, seq, { from: span.offset + badAt - span.start, to })
  }
  return { kind: 'unreadable', file: path, line: seq + 1, message: 'the end of the file cannot be read' }
}

/** The line that ends, with its newline, at `end`; none at the start of the file. */
export async function readLineBefore(file: OpenFile, end: number): Promise<LineAt | undefined> {
  if (end === 0) return undefined
  for (let reach = 64 * 1024; ; reach *= 4) {
    const from = Math.max(0, end - reach)
    const bytes = await readBytes(file, { from, to: end })
    const newline = bytes.lastIndexOf(10, bytes.byteLength - 2)
    if (newline < 0 && from > 0) continue
    return { start: from + newline + 1, end, bytes: bytes.subarray(newline + 1, -1) }
  }
}

/** Whether the line follows from the one before it. */
async function holdsInPlace(file: OpenFile, { start, bytes }: LineAt): Promise<boolean> {
  const seq = statedSeq(bytes)
  if (seq === undefined) return false
  const before = start === 0 ? undefined : await readSumBefore(file, start)
  return (seq === 0) === (start === 0) && lineHolds(bytes, seq, before)
}

async function findLineEnd(file: OpenFile, size: number): Promise<number> {
  for (let to = size; to > 0; ) {
    const from = Math.max(0, to - 64 * 1024)
    const newline = (await readBytes(file, { from, to })).lastIndexOf(10)
    if (newline >= 0) return from + newline + 1
    to = from
  }
  return 0
}

// Some file systems grow a file before its bytes arrive, so a power cut leaves zeros, which Matrix never writes. With a
// whole line after the zeros it is something else, and nothing is cut.
async function findHole(file: OpenFile, size: number): Promise<number | undefined> {
  const from = Math.max(0, size - 1024 * 1024)
  const bytes = await readBytes(file, { from, to: size })
  const zero = bytes.indexOf(0)
  if (zero < 0) return undefined
  const after = bytes.subarray(bytes.lastIndexOf(0) + 1)
  const newline = after.indexOf(10)
  if (newline >= 0 && after.indexOf(10, newline + 1) >= 0) return undefined
  const start = zero === 0 ? 0 : bytes.lastIndexOf(10, zero - 1) + 1
  return start === 0 && from > 0 ? undefined : from + start
}

/** An append of several lines that lost its last ones never happened either; its lines count down to the last one. */
async function skipHalfAppend(file: OpenFile, last: LineAt): Promise<LineAt | undefined> {
  if (followers(last) === 0) return last
  for (let line = last; ; ) {
    const before = await readLineBefore(file, line.start)
    if (!before || followers(before) !== followers(line) + 1) return before
    line = before
  }
}

function followers({ bytes }: LineAt): number {
  return parseLine(bytes.toString())?.more ?? 0
}
