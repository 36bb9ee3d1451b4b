import { formatRequestJson } from './request-json.ts'

/** A JSON list that only grows, kept as the bytes that go out. */
export type SerializedHistory = {
  append(message: object): void
  /** How many messages there are. */
  count(): number
  /** Where in the bytes the first so many messages end, without the comma. */
  endOf(count: number): number
  bytes(): Buffer
  /** Each message as it was written. */
  list(): string[]
  clear(): void
}

export function createSerializedHistory(): SerializedHistory {
  let buffer = Buffer.alloc(0)
  let ends: number[] = []
  // Bytes are made, and counted, when they are asked for: a replay writes a whole session at once.
  let pending: string[] = []

  function flush(): void {
    if (pending.length === 0) return
    const written = ends.at(-1) ?? 0
    let length = written
    for (const text of pending) {
      length += Buffer.byteLength(text) + ','.length
      ends.push(length)
    }
    if (length > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(2048, buffer.length * 2, length))
      buffer.copy(larger, 0, 0, written)
      buffer = larger
    }
    buffer.write(`${pending.join(',')},`, written)
    pending = []
  }

  return {
    append(message) {
      pending.push(formatRequestJson(message))
    },
    count: () => ends.length + pending.length,
    endOf(count) {
      flush()
      return Math.max(0, (ends[count - 1] ?? 0) - ','.length)
    },
    bytes() {
      flush()
      return buffer.subarray(0, ends.at(-1) ?? 0)
    },
    list() {
      if (ends.length === 0) return [...pending]
      flush()
      return ends.map((end, index) => buffer.toString('utf8', ends[index - 1] ?? 0, end - 1))
    },
    clear() {
      buffer = Buffer.alloc(0)
      ends = []
      pending = []
    },
  }
}
