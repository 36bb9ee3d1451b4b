/** The last work that was begun for each key, which the next one waits for. */
export type Turns = Map<string, Promise<unknown>>

/** One after the other for each key: between a question about it and what is done then, nobody else does anything to it. */
export async function inTurn<T>(turns: Turns, key: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(key) ?? Promise.resolve()
  const mine = before.catch(() => undefined).then(work)
  turns.set(key, mine)
  try {
    return await mine
  } finally {
    if (turns.get(key) === mine) turns.delete(key)
  }
}
