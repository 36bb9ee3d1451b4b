import { expect, test } from 'vitest'
import { compareResults, countTests } from './compare.ts'
import type { Results } from './results/outcome.ts'

test('a test that ends otherwise, or runs on one side only, differs; order does not', () => {
  const outside: Results = new Map([
    ['same', ['passed', 'failed']],
    ['opens a port', ['passed']],
    ['only outside', ['passed']],
  ])
  const inside: Results = new Map([
    ['same', ['failed', 'passed']],
    ['opens a port', ['failed']],
    ['only inside', ['skipped']],
  ])
  const differences = [{ tests: 'only', why: 'the suite picks its tests by chance' }]

  expect(compareResults({ differences }, outside, inside)).toEqual([
    { test: 'only inside', outside: 'absent', inside: 'skipped', why: 'the suite picks its tests by chance' },
    { test: 'only outside', outside: 'passed', inside: 'absent', why: 'the suite picks its tests by chance' },
    { test: 'opens a port', outside: 'passed', inside: 'failed', why: undefined },
  ])
  expect(countTests(outside)).toBe(4)
})
