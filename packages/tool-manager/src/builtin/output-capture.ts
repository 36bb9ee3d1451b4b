import { closeSync, openSync, writeSync } from 'node:fs'

/** What a program prints, kept short for the model and whole in a file. */
export type OutputCapture = {
  write(chunk: Buffer): void
  /** All of it, or its beginning and end with a note about the file that holds the rest. */
  text(): string
  bytes(): number
  close(): void
}

export type CaptureOptions = {
  spillFile: string
  /** How much is shown. */
  keepBytes?: number
  /** How much is written to the file before the rest is only counted. */
  maxSpillBytes?: number
}

export function captureOutput({
  spillFile,
  keepBytes = 30_000,
  maxSpillBytes = 64 << 20,
}: CaptureOptions): OutputCapture {
  const headBytes = Math.floor(keepBytes / 3)
  const tailBytes = keepBytes - headBytes
  let held: Buffer[] = []
  let heldBytes = 0
  let total = 0
  let head: Buffer | undefined
  let spill: number | undefined
  let spilled = 0

  /** From here on only the beginning and the end stay in memory. */
  function startSpilling(): void {
    const all = Buffer.concat(held)
    spill = openSync(spillFile, 'wx', 0o600)
    spillOver(all)
    head = all.subarray(0, headBytes)
    held = [all.subarray(headBytes)]
    heldBytes = all.length - headBytes
  }

  function spillOver(chunk: Buffer): void {
    if (spill === undefined) return
    const part = chunk.subarray(0, Math.max(0, maxSpillBytes - spilled))
    try {
      spilled += part.length > 0 ? writeSync(spill, part) : 0
    } catch {
      // A full disk must not end the command whose output this is.
      maxSpillBytes = spilled
    }
  }

  function trimTail(): void {
    if (heldBytes < 2 * tailBytes) return
    const end = Buffer.concat(held).subarray(-tailBytes)
    held = [Buffer.from(end)]
    heldBytes = end.length
  }

  return {
    write(chunk) {
      total += chunk.length
      held.push(chunk)
      heldBytes += chunk.length
      if (head) {
        spillOver(chunk)
        trimTail()
      } else if (total > keepBytes) startSpilling()
    },
    text() {
      const rest = Buffer.concat(held)
      if (!head) return rest.toString('utf8')
      const tail = rest.subarray(-tailBytes)
      const left = total - head.length - tail.length
      const kept = spilled < total ? `the first ${spilled} of ${total} bytes are` : `all ${total} bytes are`
      return `${decode(head)}\n[… ${left} bytes left out; ${kept} in ${spillFile} …]\n${decode(tail)}`
    },
    bytes: () => total,
    close() {
      if (spill !== undefined) closeSync(spill)
      spill = undefined
    },
  }
}

/** A cut may fall into the middle of a character; what is left of it says nothing. */
function decode(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/^\uFFFD+|\uFFFD+$/g, '')
}
