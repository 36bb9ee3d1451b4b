import { addOutcome, type Outcome, type ReadResults, type Results } from './outcome.ts'

const running = /^\s*(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))/
const verdict = /^test (.+?) \.\.\. (ok|FAILED|ignored)(?:,.*)?$/

const outcomes: Record<string, Outcome> = { ok: 'passed', FAILED: 'failed', ignored: 'skipped' }

/** `cargo test`: each binary announces itself before its tests. */
export const readCargo: ReadResults = (log) => {
  const results: Results = new Map()
  let binary = ''
  for (const line of log.split(/\r?\n/)) {
    const [, source, documented] = running.exec(line) ?? []
    binary = source ?? documented ?? binary
    const [, name, word = ''] = verdict.exec(line) ?? []
    const outcome = outcomes[word]
    if (name && outcome) addOutcome(results, `${binary} ${name}`.trim(), outcome)
  }
  return results
}
