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
