import { MatrixError } from '@matrix/protocol'

export type Limit = { take(): void }

/** Counts for everyone together: whoever comes over loopback has the same address, so counting by address is no use. */
export function openLimit(what: string, { perMinute, now }: { perMinute: number; now(): number }): Limit {
  let windowStart = now()
  let count = 0
  return {
    take() {
      if (now() - windowStart >= 60_000) {
        windowStart = now()
        count = 0
      }
      count += 1
      if (count > perMinute) throw new MatrixError('RATE_LIMITED', `Too many ${what} within a minute.`)
    },
  }
}
