/** Runs work of the same name one after the other, in the order it was asked for; other names are not held up. */
export function openTurns(): <T>(name: string, work: () => Promise<T>) => Promise<T> {
  const tails = new Map<string, Promise<unknown>>()
  return (name, work) => {
    const turn = (tails.get(name) ?? Promise.resolve()).then(work)
    const tail = turn.catch(() => {})
    tails.set(name, tail)
    tail.then(() => {
      if (tails.get(name) === tail) tails.delete(name)
    })
    return turn
  }
}

/** One run of the work for everyone who asks before it begins; who asks later gets the next. */
export function openShared<Key>(work: (key: Key) => Promise<void>): (key: Key) => Promise<void> {
  const running = new Map<Key, Promise<void>>()
  const waiting = new Map<Key, Promise<void>>()
  return (key) => {
    const joined = waiting.get(key)
    if (joined) return joined
    const next = (running.get(key) ?? Promise.resolve())
      .catch(() => {})
      .then(() => {
        waiting.delete(key)
        running.set(key, next)
        return work(key)
      })
      .finally(() => {
        if (running.get(key) === next) running.delete(key)
      })
    waiting.set(key, next)
    return next
  }
}

/** Runs as many at once as there are places; the others wait. */
export function openPlaces(count: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let taken = 0
  return async (work) => {
    if (taken >= count) await new Promise<void>((resolve) => waiting.push(resolve))
    else taken += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // The place goes straight to the next in line, so that nobody slips in between.
      if (next) next()
      else taken -= 1
    }
  }
}
