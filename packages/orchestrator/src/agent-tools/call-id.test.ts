import { expect, test } from 'vitest'
import { firstMadeAt } from './call-id.ts'

const at = '2026-01-02T12:00:00.000Z'
const callTimes = new Map([['commit', at]])

test.each([
  ['later', Date.parse(at) + 1000, at],
  ['on a clock that was set back', Date.parse(at) - 3_600_000, '1970-01-01T00:00:00.000Z'],
])('what a call did that is made again %s is recognised as its own', (_, now, since) => {
  expect(firstMadeAt({ callTimes, repeated: new Set(['commit']) }, 'commit', now)).toEqual({ since: new Date(since) })
})

test('a call that is made for the first time did nothing before', () => {
  expect(firstMadeAt({ callTimes, repeated: new Set() }, 'commit', Date.parse(at))).toEqual({})
})
