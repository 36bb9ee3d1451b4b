/** One measured promise: ours against a floor or a peer in the same run, and how large the ratio may be. */
export type Figure = {
  name: string
  /** What both sides are measured in, such as "ms". */
  unit: string
  ours: number
  floor: number
  /** What the floor is, in a few words. */
  against: string
  /** The largest ratio of ours to the floor that keeps the promise. */
  limit: number
}

export type Benchmark = { name: string; measure(): Promise<Figure[]> }

export function ratioOf({ ours, floor }: Figure): number {
  return ours / floor
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** Medians of several contestants that take turns, so that a busy moment of the machine hits all of them alike. */
export async function interleave<Name extends string>(
  rounds: number,
  contestants: Record<Name, () => unknown>,
): Promise<Record<Name, number>> {
  const names = Object.keys(contestants) as Name[]
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (const name of names) await contestants[name]() // The first run only warms up.
  for (let round = 0; round < rounds; round += 1)
    for (const name of names) {
      const start = performance.now()
      await contestants[name]()
      times[name].push(performance.now() - start)
    }
  return Object.fromEntries(names.map((name) => [name, median(times[name])])) as Record<Name, number>
}
