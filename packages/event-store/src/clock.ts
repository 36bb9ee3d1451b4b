/** Time, as the store needs it, so that a test can hold the hands. */
export type Clock = {
  /** Milliseconds since 1970. */
  now(): number
  /** Calls back once after this long, and keeps the program alive until then only where work waits for it; the answer cancels it. */
  after(ms: number, callback: () => void, options?: { keepsAlive?: boolean }): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback, { keepsAlive = false } = {}) {
    // Node warns of a moment that has passed already.
    const timer = setTimeout(callback, Math.max(ms, 0))
    if (!keepsAlive) timer.unref()
    return () => clearTimeout(timer)
  },
}
