import { MatrixError } from '@matrix/protocol'

/** Cuts a stream of bytes into lines. Each byte is looked at once, however small the pieces in which a long line comes. */
export type LineBuffer = {
  /** The lines that this piece completes. Throws when one grows longer than allowed. */
  add(chunk: Buffer): string[]
}

export function openLineBuffer(maxBytes: number): LineBuffer {
  let parts: Buffer[] = []
  let bytes = 0

  function keep(part: Buffer): void {
    bytes += part.length
    if (bytes > maxBytes) {
      parts = []
      throw new MatrixError('SERVER_UNAVAILABLE', `The server sent a message of more than ${maxBytes} bytes.`, {
        hint: 'Ask it for less at once.',
      })
    }
    if (part.length > 0) parts.push(part)
  }

  return {
    add(chunk) {
      const lines: string[] = []
      let at = 0
      for (let newline = chunk.indexOf(10); newline >= 0; newline = chunk.indexOf(10, at)) {
        keep(chunk.subarray(at, newline))
        const line = Buffer.concat(parts).toString('utf8').trim()
        if (line !== '') lines.push(line)
        parts = []
        bytes = 0
        at = newline + 1
      }
      keep(chunk.subarray(at))
      return lines
    },
  }
}
