import { type Outcome, type ReadResults, readLines } from './outcome.ts'

const summary = /^(?:(PASSED) (\S+::.*)|(FAILED|ERROR|XFAIL|XPASS) (\S+::.*?|\S+\.py)(?: - .*)?)$/
const skipped = /^SKIPPED \[(\d+)\] ([^:]+(?::\d+)?): (.*)$/

const outcomes: Record<string, Outcome> = {
  PASSED: 'passed',
  FAILED: 'failed',
  ERROR: 'failed',
  XFAIL: 'passed',
  XPASS: 'passed',
}

/** The short summary of `pytest -rA`. Skipped tests stand there by place and count, without their names. */
export const readPytest: ReadResults = (log) =>
  readLines(log.slice(Math.max(0, log.lastIndexOf('short test summary info'))), (line) => {
    const [, passed, whole, word = passed, name = whole] = summary.exec(line) ?? []
    const outcome = outcomes[word ?? '']
    if (outcome && name) return [name, outcome]
    const [, count, place] = skipped.exec(line) ?? []
    return place ? [`${place} (${count} skipped)`, 'skipped'] : undefined
  })
