import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { formatCounts, readCounts, readFailures, sumCounts } from '../../bootstrap/results.mjs'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-results-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('passed, failed and skipped tests of a report are counted', () => {
  const file = report({ numPassedTests: 7, numFailedTests: 2, numPendingTests: 1, numTodoTests: 3, success: false })

  expect(readCounts(file)).toEqual({ passed: 7, failed: 2, skipped: 4 })
})

test('each test file that does not load counts as a failure, though no test in it failed', () => {
  const file = report({
    numPassedTests: 7,
    success: false,
    testResults: [
      { status: 'failed', assertionResults: [] },
      { status: 'failed', assertionResults: [] },
      { status: 'passed', assertionResults: [{ status: 'passed' }] },
    ],
  })

  expect(readCounts(file)).toMatchObject({ passed: 7, failed: 2 })
})

test('a test file with a failed test counts once for each test, not once more for itself', () => {
  const file = report({
    numFailedTests: 1,
    success: false,
    testResults: [{ status: 'failed', assertionResults: [{ status: 'failed' }, { status: 'passed' }] }],
  })

  expect(readCounts(file).failed).toBe(1)
})

test('a run that found no tests at all is a failure', () => {
  expect(readCounts(report({ success: false }))).toEqual({ passed: 0, failed: 1, skipped: 0 })
})

test('a report that was never written is a failure', () => {
  expect(readCounts(join(folder, 'none.json'))).toEqual({ passed: 0, failed: 1, skipped: 0 })
})

test('what failed is named with its file and the first line of its reason', () => {
  const file = report({
    success: false,
    testResults: [
      {
        name: '/here/src/lock.test.ts',
        status: 'failed',
        assertionResults: [
          { status: 'failed', fullName: 'a lock is held once', failureMessages: ['Error: held twice\n    at x.ts:3'] },
          { status: 'passed', fullName: 'a lock is freed' },
        ],
      },
      { name: '/here/src/broken.test.ts', status: 'failed', message: 'Cannot find x', assertionResults: [] },
    ],
  })

  expect(readFailures(file)).toEqual([
    'lock.test.ts › a lock is held once: Error: held twice',
    'broken.test.ts: Cannot find x',
  ])
})

test('the last line sums all packages and mentions skipped tests only if there are some', () => {
  const sum = sumCounts([
    { passed: 3, failed: 0, skipped: 0 },
    { passed: 4, failed: 1, skipped: 0 },
  ])

  expect(formatCounts(sum)).toBe('7 passed, 1 failed')
  expect(formatCounts({ ...sum, skipped: 2 })).toBe('7 passed, 1 failed, 2 skipped')
})

function report(fields: object): string {
  const file = join(folder, 'test-results.json')
  const nothing = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, success: true }
  writeFileSync(file, JSON.stringify({ ...nothing, testResults: [], ...fields }))
  return file
}
