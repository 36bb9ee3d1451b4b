import { expect, test } from 'vitest'
import { planDeaths, playStory } from './simulated-story.testing.ts'

const points = Number(process.env.MATRIX_CRASH_POINTS ?? 2000)
const firstSeed = Number(process.env.MATRIX_SEED ?? 1)

test('a story without a death ends with everything in its place', async () => {
  const outcome = await playStory({ seed: 1, deaths: [] })

  expect(outcome.violations).toEqual([])
  expect(outcome.files).toEqual(['Blue.txt', 'Red.txt'])
})

test('the same seed is the same story, step by step', async () => {
  const plan = { seed: 7, deaths: [{ after: 60, how: 'power' as const }] }

  expect(await playStory(plan)).toEqual(await playStory(plan))
})

test(`through ${points} deaths, by kill or power cut and also while recovering, nothing is lost, doubled or stuck`, {
  timeout: 60_000 + points * 500,
}, async () => {
  const failures: string[] = []
  let deaths = 0
  for (const plan of planDeaths(points, firstSeed)) {
    const outcome = await playStory(plan)
    deaths += outcome.deaths
    const isWhole = outcome.files.join() === 'Blue.txt,Red.txt'
    if (!isWhole) failures.push(`${JSON.stringify(plan)}: files ${outcome.files.join()}`)
    failures.push(...outcome.violations.map((violation) => `${JSON.stringify(plan)}: ${violation}`))
    if (failures.length > 10) break
  }
  if (process.env.MATRIX_CRASH_POINTS) process.stderr.write(`${deaths} deaths, ${failures.length} violations\n`)

  expect(failures).toEqual([])
  expect(deaths).toBeGreaterThan(points / 2)
})
