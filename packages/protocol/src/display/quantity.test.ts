import { expect, test } from 'vitest'
import { formatBytes, formatCount, formatDuration, formatSpending, formatUsd, plural } from './quantity.ts'

test('money keeps the digits that matter', () => {
  expect([0, 0.00001, 0.0042, 0.25, 12.5, 1234.4].map(formatUsd)).toEqual([
    '$0',
    '<$0.0001',
    '$0.0042',
    '$0.25',
    '$12.50',
    '$1,234',
  ])
})

test('what is spent is never shown as the limit before it is, however small both are', () => {
  const shown = (spent: number, limit: number) => Object.values(formatSpending('usd', spent, limit)).join(' of ')
  expect(shown(0.00498, 0.005)).toBe('$0.00498 of $0.00500')
  expect(shown(0.00003, 0.00005)).toBe('$0.000030 of $0.000050')
  expect(shown(1.999, 2)).toBe('$1.999 of $2.000')
  expect(shown(2, 2)).toBe('$2.00 of $2.00')
  expect(shown(0.5, 2)).toBe('$0.50 of $2.00')
  expect(formatSpending('tokens', 999_990, 1_000_000)).toEqual({ spent: '999,990 tokens', limit: '1,000,000 tokens' })
})

test('counts and sizes are short', () => {
  expect([0, 999, 1000, 1240, 34_500, 999_499, 999_500, 12_000_000].map(formatCount)).toEqual([
    '0',
    '999',
    '1k',
    '1.2k',
    '35k',
    '999k',
    '1M',
    '12M',
  ])
  expect([0, 999, 1000, 25_300_000].map(formatBytes)).toEqual(['0 B', '999 B', '1 kB', '25 MB'])
})

test('durations name at most two units, and a clock that went back is no time at all', () => {
  expect([-5, 8000, 61_000, 7_500_000, 7_200_000, 273_600_000].map(formatDuration)).toEqual([
    '0s',
    '8s',
    '1m',
    '2h 5m',
    '2h',
    '3d 4h',
  ])
})

test('one is singular', () => {
  expect([plural(1, 'match', 'matches'), plural(0, 'task'), plural(1200, 'line')]).toEqual([
    '1 match',
    '0 tasks',
    '1,200 lines',
  ])
})
