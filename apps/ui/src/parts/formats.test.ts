import { expect, test } from 'vitest'
import { formatAge, formatBytes, formatDuration, formatTokens, formatUsd } from './formats.ts'

test.each([
  [0, '$0.00'],
  [0.00001, '<$0.0001'],
  [0.0034, '$0.0034'],
  [0.4, '$0.40'],
  [1234.5, '$1,234.50'],
])('%d dollars are written %s', (value, text) => {
  expect(formatUsd(value)).toBe(text)
})

test.each([
  [950, '950'],
  [1000, '1k'],
  [12_340, '12.3k'],
  [999_499, '999k'],
  [999_500, '1M'],
  [1_240_000, '1.2M'],
])('%d tokens are written %s', (value, text) => {
  expect(formatTokens(value)).toBe(text)
})

test.each([
  [400, '0s'],
  [4000, '4s'],
  [754_000, '12m'],
  [12_000_000, '3h 20m'],
  [10_800_000, '3h'],
  [187_200_000, '2d 4h'],
])('%d milliseconds last %s', (value, text) => {
  expect(formatDuration(value)).toBe(text)
})

test('what happened a moment ago, or on a clock that runs ahead, is now', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')

  expect(formatAge('2026-01-01T00:00:02Z', now)).toBe('now')
  expect(formatAge('2025-12-31T23:59:00Z', now)).toBe('1m')
})

test('bytes are written in the largest unit that leaves a whole number', () => {
  expect([12, 1500, 2_400_000, 3_100_000_000].map(formatBytes)).toEqual(['12 B', '1.5 kB', '2.4 MB', '3.1 GB'])
})
