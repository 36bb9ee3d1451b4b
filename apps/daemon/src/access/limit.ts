import { MatrixError } from '@matrix/protocol'

export type Limit = { take(): void }

/** Counts for everyone together: whoever comes over loopback has the same address, so counting by address is no use. */
export function openLimit(what: string, { perMinute, elapsed }: { perMinute: number; elapsed(): number }): Limit {
  let windowStart = elapsed()
  let count = 0
  return {
    take() {
      if (elapsed() - windowStart >= 60_000) {
        windowStart = elapsed()
        count = 0
      }
      count += 1
      if (count > perMinute) throw new MatrixError('RATE_LIMITED', `Too many ${what} within a minute.`)
    },
  }
}
