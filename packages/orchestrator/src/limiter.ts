/** Lets so many at a time through, and the others in the order they came. */
export type Limiter = {
  /** Resolves with the way to give the place back; rejects when the signal fires first. */
  enter(signal: AbortSignal): Promise<() => void>
  /** Also takes effect for those who wait. */
  setLimit(limit: number): void
  readonly active: number
  readonly waiting: number
}

export function createLimiter(initial: number): Limiter {
  const queue: (() => void)[] = []
  let limit = initial
  let active = 0

  function admit(): void {
    while (active < limit) {
      const next = queue.shift()
      if (!next) return
      next()
    }
  }

  function place(): () => void {
    let isHeld = true
    active += 1
    return () => {
      if (!isHeld) return
      isHeld = false
      active -= 1
      admit()
    }
  }

  return {
    enter(signal) {
      if (signal.aborted) return Promise.reject(signal.reason)
      if (active < limit && queue.length === 0) return Promise.resolve(place())
      return new Promise((resolve, reject) => {
        const enter = () => {
          signal.removeEventListener('abort', leave)
          resolve(place())
        }
        const leave = () => {
          queue.splice(queue.indexOf(enter), 1)
          reject(signal.reason)
        }
        signal.addEventListener('abort', leave, { once: true })
        queue.push(enter)
      })
    },
    setLimit(next) {
      limit = next
      admit()
    },
    get active() {
      return active
    },
    get waiting() {
      return queue.length
    },
  }
}
