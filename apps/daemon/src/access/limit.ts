import { MatrixError } from '@matrix/protocol'

export type Limit = {
  /** Throws once this source, or all sources together, have asked too often. */
  take(source: string): void
}

export type LimitOptions = { perSource: number; together: number; elapsed(): number }

/** Counts per source within a minute. What a source asks beyond its own share is not charged to the others. */
export function openLimit(what: string, { perSource, together, elapsed }: LimitOptions): Limit {
  let windowStart = elapsed()
  let total = 0
  // At most `together` entries: a source that was not counted is not kept.
  const counts = new Map<string, number>()
  return {
    take(source) {
      if (elapsed() - windowStart >= 60_000) {
        windowStart = elapsed()
        total = 0
        counts.clear()
      }
      const count = counts.get(source) ?? 0
      if (count >= perSource || total >= together)
        throw new MatrixError('RATE_LIMITED', `Too many ${what} within a minute.`)
      counts.set(source, count + 1)
      total += 1
    },
  }
}
