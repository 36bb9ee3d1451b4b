/** A JSON list that only grows, kept as the bytes that go out. */
export type SerializedHistory = {
  append(message: object): void
  bytes(): Buffer
  /** Each message as it was written. */
  list(): string[]
  clear(): void
}

export function createSerializedHistory(): SerializedHistory {
  let buffer = Buffer.allocUnsafe(2048)
  let length = 0
  let ends: number[] = []

  function reserve(size: number): void {
    if (length + size <= buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, length + size))
    buffer.copy(larger, 0, 0, length)
    buffer = larger
  }

  return {
    append(message) {
      const text = `${JSON.stringify(message)},`
      reserve(Buffer.byteLength(text))
      length += buffer.write(text, length)
      ends.push(length)
    },
    bytes: () => buffer.subarray(0, length),
    list: () => ends.map((end, index) => buffer.toString('utf8', ends[index - 1] ?? 0, end - 1)),
    clear() {
      buffer = Buffer.allocUnsafe(2048)
      length = 0
      ends = []
    },
  }
}
