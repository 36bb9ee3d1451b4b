import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { noteConnection } from './connection-notes.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a connection that is only made anew is not spoken of', () => {
  const told: boolean[] = []
  const note = noteConnection((isAway) => told.push(isAway))
  note(true)
  note(false)
  vi.advanceTimersByTime(1000)
  note(true)
  vi.advanceTimersByTime(10_000)

  expect(told).toEqual([])
})

test('a daemon that stays away is spoken of once, and once more when it is back, each time', () => {
  const told: boolean[] = []
  const note = noteConnection((isAway) => told.push(isAway))
  for (let absence = 0; absence < 2; absence += 1) {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      note(false)
      vi.advanceTimersByTime(1000)
    }
    note(true)
  }

  expect(told).toEqual([true, false, true, false])
})
