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

/** Runs as many at once as there are places; the others wait. Each is told how many run beside it. */
export function openPlaces(count: number): <T>(work: (others: number) => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let taken = 0
  return async (work) => {
    if (taken >= count) await new Promise<void>((resolve) => waiting.push(resolve))
    else taken += 1
    try {
      return await work(taken - 1)
    } finally {
      const next = waiting.shift()
      // The place goes straight to the next in line, so that nobody slips in between.
      if (next) next()
      else taken -= 1
    }
  }
}
