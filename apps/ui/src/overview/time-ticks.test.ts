import { expect, test } from 'vitest'
import { timeTicks } from './time-ticks.ts'

test.each([5000, 20_000, 60_000, 150_000, 900_000, 3_600_000, 21_600_000, 86_400_000, 604_800_000])(
  '%d ms have between 3 and 9 ticks, all inside',
  (length) => {
    const startMs = Date.parse('2026-03-04T05:06:07Z')
    const ticks = timeTicks(startMs, startMs + length)

    expect(ticks.length).toBeGreaterThanOrEqual(3)
    expect(ticks.length).toBeLessThanOrEqual(9)
    for (const { atMs } of ticks) expect(atMs >= startMs && atMs <= startMs + length).toBe(true)
  },
)

test('ticks stand at round moments of local time', () => {
  const startMs = new Date(2026, 2, 4, 5, 6, 7).getTime()

  expect(timeTicks(startMs, startMs + 3_600_000)[0]?.label).toMatch(/:(00|10|20|30|40|50)/)
})
