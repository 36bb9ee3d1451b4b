import { expect, test } from 'vitest'
import { readMoment } from './search.ts'

test('a moment is some time ago or a date', () => {
  const now = Date.parse('2026-01-08T12:00:00.000Z')

  expect(readMoment('30m', now)).toBe('2026-01-08T11:30:00.000Z')
  expect(readMoment('1w', now)).toBe('2026-01-01T12:00:00.000Z')
  expect(readMoment('2026-01-02', now)).toBe('2026-01-02T00:00:00.000Z')
  expect(() => readMoment('yesterday', now)).toThrow('yesterday is no moment')
})
