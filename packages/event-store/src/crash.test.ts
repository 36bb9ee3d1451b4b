import { expect, test } from 'vitest'
import { type CrashOutcome, type CrashPlan, type OpenOnDisk, planCrashes, runWithCrashes } from './crash-harness.ts'
import { openJsonlEventStore } from './jsonl-event-store.ts'

const points = Number(process.env.MATRIX_CRASH_POINTS ?? 2000)
const firstSeed = Number(process.env.MATRIX_CRASH_SEED ?? 1)

test(`nothing acknowledged is lost and nothing torn is believed at ${points} crash points`, {
  timeout: 600_000,
}, async () => {
  const outcomes: (CrashOutcome & { plan: CrashPlan })[] = []
  let crashes = 0
  for (const plan of planCrashes(points * 2, firstSeed)) {
    if (crashes >= points) break
    const outcome = await runWithCrashes(openOnDisk, plan)
    crashes += outcome.crashes
    outcomes.push({ ...outcome, plan })
  }

  const failed = outcomes.filter(({ violations }) => violations.length > 0)
  expect(failed.map(({ plan, violations }) => ({ plan, violations }))).toEqual([])
  expect(crashes).toBeGreaterThanOrEqual(points)
  // The sweep is only worth something if the writers got somewhere before they died.
  expect(sum(outcomes.map(({ acknowledged }) => acknowledged))).toBeGreaterThan(points * 3)
})

test('relaxed loses nothing to a killed process either', { timeout: 120_000 }, async () => {
  for (const { seed, crashes } of planCrashes(200, 9000)) {
    const killed = crashes.map(({ after }) => ({ after, kind: 'kill' as const }))
    const { violations } = await runWithCrashes(openRelaxed, { seed, crashes: killed, rest: 'kill' })
    expect(violations).toEqual([])
  }
})

test('the same seed crashes in the same way', async () => {
  for (const plan of planCrashes(20, 500))
    expect(await runWithCrashes(openOnDisk, plan)).toEqual(await runWithCrashes(openOnDisk, plan))
})

const clock = { now: () => 0, after: () => () => undefined }

const openOnDisk: OpenOnDisk = (fileSystem, onFatal) =>
  openJsonlEventStore('/data/sessions', { fileSystem, onFatal, clock })

const openRelaxed: OpenOnDisk = (fileSystem, onFatal) =>
  openJsonlEventStore('/data/sessions', { fileSystem, onFatal, clock, durability: 'relaxed' })

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
