import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */
/** @typedef {{ name: string, status: string, message?: string, assertionResults: { status: string, fullName: string, failureMessages?: string[] }[] }} TestFile */

/**
 * The counts of one Vitest JSON report. A missing report is a failure: that run broke off before it could say anything.
 * @param {string} file
 * @returns {Counts}
 */
export function readCounts(file) {
  if (!existsSync(file)) return { passed: 0, failed: 1, skipped: 0 }

  const report = JSON.parse(readFileSync(file, 'utf8'))
  // A file that does not even load fails without a failing test in it.
  const failed = report.numFailedTests + report.testResults.filter(brokeWhileLoading).length
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && !report.success ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  }
}

/**
 * A line for each test that failed: the file, the test and the first line of what it said.
 * @param {string} file
 * @returns {string[]}
 */
export function readFailures(file) {
  if (!existsSync(file)) return [`${basename(dirname(file))}: the run broke off before it could report`]

  /** @type {{ testResults: TestFile[] }} */
  const report = JSON.parse(readFileSync(file, 'utf8'))
  return report.testResults.flatMap((tests) => {
    const name = basename(tests.name)
    if (brokeWhileLoading(tests)) return [`${name}: ${firstLine(tests.message)}`]
    return tests.assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => `${name} › ${fullName}: ${firstLine(failureMessages?.[0])}`)
  })
}

/**
 * @param {Counts[]} all
 * @returns {Counts}
 */
export function sumCounts(all) {
  return all.reduce(
    (sum, counts) => ({
      passed: sum.passed + counts.passed,
      failed: sum.failed + counts.failed,
      skipped: sum.skipped + counts.skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  )
}

/** @param {Counts} counts */
export function formatCounts({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

/** @param {TestFile} file */
function brokeWhileLoading(file) {
  return file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed')
}

/** @param {string | undefined} message */
function firstLine(message) {
  return message?.trim().split('\n')[0] || 'it does not say why'
}
