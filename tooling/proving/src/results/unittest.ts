import { type Outcome, type ReadResults, readLines } from './outcome.ts'

const verdict = /^(test\w*) \(([\w.]+)\)(?: \.\.\.)?.*?\b(ok|FAIL|ERROR|skipped|expected failure)\b.*$/

const outcomes: Record<string, Outcome> = {
  ok: 'passed',
  FAIL: 'failed',
  ERROR: 'failed',
  skipped: 'skipped',
  'expected failure': 'passed',
}

/** `python -m unittest --verbose`. From Python 3.11 on the method stands in the brackets too. */
export const readUnittest: ReadResults = (log) =>
  readLines(log, (line) => {
    const [, method = '', place = '', word = ''] = verdict.exec(line) ?? []
    const outcome = outcomes[word]
    return outcome && [place.endsWith(`.${method}`) ? place : `${place}.${method}`, outcome]
  })
