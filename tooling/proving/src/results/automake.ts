import { type Outcome, type ReadResults, readLines } from './outcome.ts'

const verdict = /^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): (\S.*)$/

const outcomes: Record<string, Outcome> = {
  PASS: 'passed',
  XFAIL: 'passed',
  SKIP: 'skipped',
  FAIL: 'failed',
  XPASS: 'failed',
  ERROR: 'failed',
}

/** The lines of Automake's `make check`. */
export const readAutomake: ReadResults = (log) =>
  readLines(log, (line) => {
    const [, word = '', name = ''] = verdict.exec(line) ?? []
    const outcome = outcomes[word]
    return outcome && [name, outcome]
  })
