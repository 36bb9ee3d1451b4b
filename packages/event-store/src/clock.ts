/** Time, as the store needs it, so that a test can hold the hands. */
export type Clock = {
  /** Milliseconds since 1970. */
  now(): number
  /** Calls back once after this long, without keeping the program alive; the answer cancels it. */
  after(ms: number, callback: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
