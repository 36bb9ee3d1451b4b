import { hash } from 'node:crypto'
import type { DurableEvent } from '@matrix/protocol'
import type { Bytes } from './bytes.ts'
import { fromEarlier } from './earlier-event.ts'

/** The major version of the file format; the first line of every session names it. */
export const FORMAT_VERSION = 1

/** First line of a session: what the file is, so that it can be told from any other wherever it is found. */
export type Header = { seq: 0; format: 'matrix-session'; v: number; sessionId: string; createdAt: string }

/** An event that an earlier part of the file keeps alive across a compaction: its seq and where its line starts. */
export type Kept = [seq: number, offset: number]

export type Line = {
  seq: number
  /** How many lines of the same append follow. Left out for the last one, so a cut between two shows. */
  more?: number
  /** Only on a marker from which the active part starts: what stands before it and is still needed. */
  keeps?: Kept[]
  event: DurableEvent
  sum: string
}

// `…,"sum":"<32 hex>"}`: the sum is always last and always as long, so a line is checked without parsing it.
const SUM_KEY = ',"sum":"'
const SUM_LENGTH = 32
export const SUM_TAIL = SUM_KEY.length + SUM_LENGTH + 2
/** The previous line's sum, its `"}` and the newline stand directly before a line; the next sum covers them. */
export const SUM_CONTEXT = SUM_LENGTH + 3

export function formatHeader(header: Header): { line: string; sum: string } {
  return sealed(JSON.stringify(header).slice(0, -1), undefined)
}

/** `json` is the event as text. It goes in as it is, so whoever reads the line gets the bytes that were appended. */
export function formatLine(
  { seq, more, keeps }: Omit<Line, 'event' | 'sum'>,
  json: string,
  previousSum: string,
): { line: string; sum: string } {
  const rest = more ? `,"more":${more}` : ''
  const kept = keeps?.length ? `,"keeps":${JSON.stringify(keeps)}` : ''
  return sealed(`{"seq":${seq}${rest}${kept},"event":${json}`, previousSum)
}

/** The chain: each sum covers the sum before it, so no line can be lost, moved or changed alone. */
function sumOf(body: string | Uint8Array, previousSum: string | undefined): string {
  if (previousSum === undefined) return hash('sha256', body).slice(0, SUM_LENGTH)
  const before = `${previousSum}"}\n`
  const covered = typeof body === 'string' ? before + body : Buffer.concat([Buffer.from(before), body])
  return hash('sha256', covered).slice(0, SUM_LENGTH)
}

/** The sum a line states about itself, or undefined if it has no such ending. */
export function findSum(line: Bytes): string | undefined {
  const text = line.toString('latin1', Math.max(0, line.byteLength - SUM_TAIL), line.byteLength)
  return /^,"sum":"([0-9a-f]{32})"\}$/.exec(text)?.[1]
}

/** The line as data, or undefined if it is not JSON. Whether it can be trusted is for the chain to say. */
export function parseLine(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Line
    if (line?.event) line.event = fromEarlier(line.event)
    return line
  } catch {
    return undefined
  }
}

export function statedSeq(line: Bytes): number | undefined {
  const [, digits] = /^\{"seq":(\d{1,15}),/.exec(line.toString('latin1', 0, 32)) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** Whether a line is what was written as event `seq` after a line with this sum. */
export function lineHolds(line: Bytes, seq: number, previousSum: string | undefined): boolean {
  const sum = findSum(line)
  if (sum === undefined || statedSeq(line) !== seq) return false
  return sumOf(line.subarray(0, line.byteLength - SUM_TAIL), previousSum) === sum
}

function sealed(body: string, previousSum: string | undefined): { line: string; sum: string } {
  const sum = sumOf(body, previousSum)
  return { line: `${body}${SUM_KEY}${sum}"}\n`, sum }
}
