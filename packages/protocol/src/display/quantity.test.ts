import { expect, test } from 'vitest'
import { formatBytes, formatCount, formatDuration, formatUsd, plural } from './quantity.ts'

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
