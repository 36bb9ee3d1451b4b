import { closeSync, openSync, writeSync } from 'node:fs'
import { openPlainText } from './plain-text.ts'
import { MAX_SHOWN } from './shown.ts'

/** What a program prints, as plain text: kept short for the model and whole in a file. */
export type OutputCapture = {
  write(chunk: Buffer): void
  /** All of it, or its beginning and end with a note about the file that holds the rest. */
  text(): string
  bytes(): number
  close(): void
}

export type CaptureOptions = {
  /** Names the file that holds all of it, once it is too long. */
  spillFile(): string
  /** Hears whole lines as they come, and the one that is not complete yet. */
  onOutput?: ((lines: string, line: string) => void) | undefined
  /** How much is shown. */
  keepBytes?: number
  /** How much is written to the file before the rest is only counted. */
  maxSpillBytes?: number
}

type Spill = { path: string; descriptor: number | undefined; bytes: number; isFull: boolean }

export function captureOutput({
  spillFile,
  onOutput,
  keepBytes = MAX_SHOWN,
  maxSpillBytes = 128 << 20,
}: CaptureOptions): OutputCapture {
  const headBytes = Math.floor(keepBytes / 3)
  const tailBytes = keepBytes - headBytes
  const plain = openPlainText()
  let held: Buffer[] = []
  let heldBytes = 0
  let total = 0
  let printed = 0
  let head: Buffer | undefined
  let spill: Spill | undefined

  function keep(text: string): void {
    if (text === '') return
    const chunk = Buffer.from(text)
    total += chunk.length
    held.push(chunk)
    heldBytes += chunk.length
    if (head) {
      if (spill) append(spill, chunk, maxSpillBytes)
      trimTail()
    } else if (total > keepBytes) startSpilling()
  }

  /** From here on only the beginning and the end stay in memory. */
  function startSpilling(): void {
    const all = Buffer.concat(held)
    spill = openSpill(spillFile)
    if (spill) append(spill, all, maxSpillBytes)
    head = all.subarray(0, headBytes)
    held = [all.subarray(headBytes)]
    heldBytes = all.length - headBytes
  }

  function trimTail(): void {
    if (heldBytes < 2 * tailBytes) return
    const end = Buffer.concat(held).subarray(-tailBytes)
    held = [Buffer.from(end)]
    heldBytes = end.length
  }

  function shown(): string {
    const line = Buffer.from(plain.line())
    const rest = Buffer.concat([...held, line])
    if (!head) return rest.toString('utf8')
    const tail = rest.subarray(-tailBytes)
    const left = total + line.length - head.length - tail.length
    return `${decode(head)}\n[… ${left} bytes left out; ${whereRestIs(spill, total)} …]\n${decode(tail)}`
  }

  return {
    write(chunk) {
      printed += chunk.length
      const lines = plain.add(chunk)
      keep(lines)
      onOutput?.(lines, plain.line())
    },
    text() {
      const text = shown()
      return isBinary(text) ? `[${printed} bytes of binary output, which is not shown]` : text
    },
    bytes: () => printed,
    close() {
      keep(plain.finish())
      if (spill?.descriptor !== undefined) closeSync(spill.descriptor)
      if (spill) spill.descriptor = undefined
    },
  }
}

/** A command must not end because its output cannot be kept. */
function openSpill(name: () => string): Spill | undefined {
  try {
    const path = name()
    // Matrix itself may be another user than the sandbox, and reads it as well.
    return { path, descriptor: openSync(path, 'wx', 0o644), bytes: 0, isFull: false }
  } catch {
    return undefined
  }
}

function append(spill: Spill, chunk: Buffer, maxBytes: number): void {
  if (spill.descriptor === undefined || spill.isFull) return
  const part = chunk.subarray(0, maxBytes - spill.bytes)
  try {
    spill.bytes += part.length > 0 ? writeSync(spill.descriptor, part) : 0
    spill.isFull = part.length < chunk.length
  } catch {
    spill.isFull = true
  }
}

function whereRestIs(spill: Spill | undefined, total: number): string {
  if (!spill) return 'they could not be kept'
  const kept = spill.bytes < total ? `the first ${spill.bytes} of ${total} bytes are` : `all ${total} bytes are`
  return `${kept} in ${spill.path}`
}

/** A cut may fall into the middle of a character; what is left of it says nothing. */
function decode(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/^\uFFFD+|\uFFFD+$/g, '')
}

const BINARY_SHARE = 0.1

/** Text in another encoding has some characters that cannot be read; a picture has little else. */
function isBinary(text: string): boolean {
  const unreadable = text.split('\uFFFD').length - 1
  return unreadable > 16 && unreadable > BINARY_SHARE * text.length
}
