/** A JSON list that only grows, kept as the bytes that go out. */
export type SerializedHistory = {
  append(message: object): void
  /** How many bytes there are, without making them. */
  size(): number
  bytes(): Buffer
  /** Each message as it was written. */
  list(): string[]
  clear(): void
}

export function createSerializedHistory(): SerializedHistory {
  let buffer = Buffer.alloc(0)
  let written = 0
  let length = 0
  let ends: number[] = []
  // Bytes are made when they are asked for: a replay writes a whole session at once.
  let pending: string[] = []

  function flush(): void {
    if (pending.length === 0) return
    if (length > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(2048, buffer.length * 2, length))
      buffer.copy(larger, 0, 0, written)
      buffer = larger
    }
    written += buffer.write(pending.length === 1 ? (pending[0] ?? '') : pending.join(''), written)
    pending = []
  }

  return {
    append(message) {
      const text = `${JSON.stringify(message)},`
      pending.push(text)
      length += Buffer.byteLength(text)
      ends.push(length)
    },
    size: () => length,
    bytes() {
      flush()
      return buffer.subarray(0, length)
    },
    list() {
      if (written === 0) return pending.map((text) => text.slice(0, -1))
      flush()
      return ends.map((end, index) => buffer.toString('utf8', ends[index - 1] ?? 0, end - 1))
    },
    clear() {
      buffer = Buffer.alloc(0)
      written = 0
      length = 0
      ends = []
      pending = []
    },
  }
}
