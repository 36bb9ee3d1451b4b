/** Runs at most so many at once, first come first served. More files syncing at the same time only wait for each other in the disk. */
export type SyncLimit = <Result>(work: () => Promise<Result>) => Promise<Result>

export function openSyncLimit(atOnce: number): SyncLimit {
  const waiting: (() => void)[] = []
  let running = 0

  return async (work) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
