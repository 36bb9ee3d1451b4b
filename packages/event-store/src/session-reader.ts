import type { ChainChecker, ChainVerdict } from './chain.ts'
import { corrupt, describeDamage } from './damage.ts'
import type { OpenFile } from './file-system.ts'
import { type Line, parseLine, statedSeq } from './line.ts'
import { eachLine } from './line-block.ts'
import { type FileSpan, readBytes, readSpans } from './span.ts'
import { type StoredEvent, storedEvent } from './stored-event.ts'

/** A line by its seq and by where it starts. */
export type SeqPlace = { seq: number; offset: number }

/** Lines in order, where in the file each one starts, and the seq and the end of the last one. */
export type LineBatch = { lines: Line[]; starts: number[]; seq: number | undefined; end: number }

/** Turns whole lines into data, up to the first that is not JSON; the chain check says what is wrong with that one. */
export type ParseSpan<Batch> = (span: FileSpan) => Batch

/** What holds of a span, and where it stops holding. */
type Checked<Batch> = { batch: Batch | undefined; bad: SeqPlace | undefined }

/** Reads to `to`, checking every line; what is given out holds. Damage throws, after everything before it was given out. */
export async function* readVerified<Batch extends { seq: number | undefined }>(
  file: OpenFile,
  path: string,
  { checker, parse }: { checker: ChainChecker; parse: ParseSpan<Batch> },
  { seq: firstSeq, offset, to }: SeqPlace & { to: number },
): AsyncGenerator<Batch> {
  async function* settle(checked: Promise<Checked<Batch>>): AsyncGenerator<Batch> {
    const { batch, bad } = await checked
    if (batch) yield batch
    if (bad) throw corrupt(await describeDamage(file, path, bad.seq, { from: bad.offset, to }))
  }

  let seq = firstSeq
  let checking: Promise<ChainVerdict> | undefined
  let before: Promise<Checked<Batch>> | undefined
  for await (const span of readSpans(file, { from: offset, to }, () => checking)) {
    // This span is checked while the one before it is used and this one is parsed: neither thread waits for the other.
    checking = checker.check({ ...span, seq })
    if (before) yield* settle(before)
    before = undefined
    const batch = parse(span)
    before = checking.then(holding(batch, { span, seq, parse }))
    // Heard when its turn comes; a reader that stops early never asks.
    before.catch(() => undefined)
    seq = (batch.seq ?? seq) + 1
  }
  if (before) yield* settle(before)
}

function holding<Batch>(
  batch: Batch,
  { span, seq, parse }: { span: FileSpan; seq: number; parse: ParseSpan<Batch> },
): (verdict: ChainVerdict) => Checked<Batch> {
  return ({ lines, badAt }) => {
    if (badAt === undefined) return { batch, bad: undefined }
    const bad = { seq: seq + lines, offset: span.offset + badAt - span.start }
    return { batch: lines > 0 ? parse({ ...span, end: badAt }) : undefined, bad }
  }
}

/** Finds the line with this seq by halving the file: the seq is the first thing in every line. */
export async function findSeq(file: OpenFile, size: number, seq: number): Promise<SeqPlace> {
  let low: SeqPlace = { seq: 0, offset: 0 }
  let high = size
  while (high - low.offset > SCAN) {
    const middle = low.offset + Math.floor((high - low.offset) / 2)
    const found = await readSeqAfter(file, middle, high)
    if (found && found.seq <= seq) low = found
    else high = middle
  }
  return scanToSeq(file, low, size, seq)
}

/** The lines that hold these bytes somewhere, unchecked. */
export async function* findLines(file: OpenFile, to: number, wanted: Uint8Array): AsyncGenerator<Line> {
  for await (const { bytes, start, end } of readSpans(file, { from: 0, to })) {
    for (let at = bytes.indexOf(wanted, start); at >= 0 && at < end; ) {
      const newline = bytes.indexOf(10, at)
      const line = parseLine(bytes.toString('utf8', bytes.lastIndexOf(10, at) + 1, newline))
      if (line) yield line
      at = bytes.indexOf(wanted, newline)
    }
  }
}

const SCAN = 128 * 1024

async function readSeqAfter(file: OpenFile, position: number, limit: number): Promise<SeqPlace | undefined> {
  for (let from = position; from < limit; from += SCAN) {
    const bytes = await readBytes(file, { from, to: Math.min(limit + 32, from + SCAN + 32) })
    const newline = bytes.indexOf(10)
    if (newline < 0 || newline >= SCAN) continue
    const offset = from + newline + 1
    const seq = statedSeq(bytes.subarray(newline + 1))
    return seq === undefined || offset >= limit ? undefined : { seq, offset }
  }
  return undefined
}

async function scanToSeq(file: OpenFile, low: SeqPlace, to: number, wanted: number): Promise<SeqPlace> {
  let { seq } = low
  if (seq === wanted) return low
  for await (const { bytes, start, end, offset } of readSpans(file, { from: low.offset, to })) {
    for (let at = start; at < end; seq += 1) {
      if (seq === wanted) return { seq, offset: offset + at - start }
      at = bytes.indexOf(10, at) + 1
    }
  }
  return { seq: wanted, offset: to }
}

/** Everything in the lines of a span. */
export function parseLines(span: FileSpan): LineBatch {
  const batch: LineBatch = { lines: [], starts: [], seq: undefined, end: span.offset + span.end - span.start }
  eachLine(span, (line, start) => {
    batch.lines.push(line)
    batch.starts.push(start)
    batch.seq = line.seq
  })
  return batch
}

/** The events of the lines of a span; the first line of a file has none. */
export function parseStored(span: FileSpan): { events: StoredEvent[]; seq: number | undefined } {
  const batch: ReturnType<typeof parseStored> = { events: [], seq: undefined }
  eachLine(span, (line) => {
    if (line.seq > 0) batch.events.push(storedEvent(line))
    batch.seq = line.seq
  })
  return batch
}
