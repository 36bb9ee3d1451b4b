import { isAscii } from 'node:buffer'
import type { Bytes } from './bytes.ts'
import { fromEarlier } from './earlier-event.ts'
import { type Line, parseLine } from './line.ts'
import type { FileSpan } from './span.ts'

/** Whole lines, by where each starts, and where the last one ends. */
type Block = { bytes: Bytes; starts: number[]; end: number }

// One text of many lines takes less time to parse than the lines one by one. A longer one would lie where memory is dear.
const BLOCK = 64 * 1024
const joined = Buffer.allocUnsafe(2 * BLOCK)

/** Hands out the lines of a span, up to the first that is not one, and where in the file each starts. */
export function eachLine({ bytes, start, end, offset }: FileSpan, take: (line: Line, start: number) => void): void {
  for (let at = start; at < end; ) {
    const block = blockAt(bytes, at, end)
    const lines = parseTogether(block) ?? parseEach(block)
    for (let index = 0; index < block.starts.length; index += 1) {
      const line = lines[index]
      // Not checked yet, so it may be anything; the header alone has no event.
      if (!line || (!line.event && line.seq !== 0)) return
      if (line.event) line.event = fromEarlier(line.event)
      take(line, offset + (block.starts[index] as number) - start)
    }
    at = block.end
  }
}

function blockAt(bytes: Bytes, from: number, limit: number): Block {
  const starts: number[] = []
  let at = from
  while (at < limit && at - from < BLOCK) {
    starts.push(at)
    at = bytes.indexOf(10, at) + 1
  }
  return { bytes, starts, end: at }
}

/** As one list: a comma in the place of every newline. Undefined if that is not JSON, or not one value a line. */
function parseTogether({ bytes, starts, end }: Block): (Line | null)[] | undefined {
  const [from = end] = starts
  const length = end - from + 1
  const list = length <= joined.byteLength ? joined : Buffer.allocUnsafe(length)
  list.set(bytes.subarray(from, end), 1)
  for (const start of starts) list[start - from] = COMMA
  list[0] = OPEN
  list[length - 1] = CLOSE
  try {
    const lines = JSON.parse(textOf(list, 0, length)) as (Line | null)[]
    return lines.length === starts.length ? lines : undefined
  } catch {
    return undefined
  }
}

function parseEach({ bytes, starts, end }: Block): (Line | undefined)[] {
  return starts.map((start, index) => parseLine(textOf(bytes, start, starts[index + 1] ?? end)))
}

/** Latin-1 is the same text when there is nothing beyond ASCII, and much quicker to turn into a string. */
function textOf(bytes: Bytes, from: number, to: number): string {
  return bytes.toString(isAscii(bytes.subarray(from, to)) ? 'latin1' : 'utf8', from, to)
}

const [OPEN, COMMA, CLOSE] = [0x5b, 0x2c, 0x5d]
