import { addCosts, isSimulatedModel } from '@matrix/protocol/display'
import type { RouteOutput, Routes } from '@matrix/protocol/http'

export type CostRow = RouteOutput<Routes['readCosts']>[number]

/** Money that somebody pays, and what a script made up: the one is never added to the other. */
export function splitCosts(rows: readonly CostRow[]): { paid: CostRow[]; simulated: CostRow[] } {
  const isSimulated = ({ model = '' }: CostRow) => isSimulatedModel(model)
  return { paid: rows.filter((row) => !isSimulated(row)), simulated: rows.filter(isSimulated) }
}

/** One row for each model, the dearest first: every project tells of its own. */
export function toModels(rows: readonly CostRow[]): CostRow[] {
  const models = new Map<string, CostRow>()
  for (const row of rows) {
    const known = models.get(row.model ?? '')
    models.set(row.model ?? '', known ? addCosts(known, row) : row)
  }
  return [...models.values()].sort((left, right) => right.usd - left.usd)
}

/** What was spent on one day, the dearest model first. */
export type Day = { day: string; usd: number; models: { model: string; usd: number }[] }

/** The last days without a gap, oldest first: a day on which nothing was spent is a day too. */
export function toDays(rows: readonly CostRow[], today: string, count: number): Day[] {
  const byDay = new Map<string, Map<string, number>>()
  for (const { day = '', model = '', usd } of rows) {
    const models = byDay.get(day) ?? new Map<string, number>()
    models.set(model, (models.get(model) ?? 0) + usd)
    byDay.set(day, models)
  }
  return Array.from({ length: count }, (_, index) => {
    const day = shiftDay(today, index + 1 - count)
    const models = [...(byDay.get(day) ?? [])].map(([model, usd]) => ({ model, usd }))
    return { day, usd: sum(models), models: models.sort((left, right) => right.usd - left.usd) }
  })
}

export function sum(rows: readonly { usd: number }[]): number {
  return rows.reduce((total, { usd }) => total + usd, 0)
}

export function shiftDay(day: string, by: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + by * 86_400_000).toISOString().slice(0, 10)
}

export type Sample = { at: number; usd: number }

const windowMs = 10 * 60_000
const enoughMs = 20_000

/** Keeps what has been spent over the last minutes. A total that shrinks (a project went away) starts anew. */
export function addSample(samples: readonly Sample[], sample: Sample): Sample[] {
  const last = samples.at(-1)
  if (last && sample.usd < last.usd) return [sample]
  return [...samples.filter(({ at }) => at >= sample.at - windowMs), sample]
}

/** Dollars an hour, from what was seen; nothing before enough was. */
export function burnRate(samples: readonly Sample[]): number | undefined {
  const [first] = samples
  const last = samples.at(-1)
  if (!first || !last || last.at - first.at < enoughMs) return undefined
  return ((last.usd - first.usd) / (last.at - first.at)) * 3_600_000
}
