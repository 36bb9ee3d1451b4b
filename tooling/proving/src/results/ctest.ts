import { type Outcome, type ReadResults, readLines } from './outcome.ts'

const verdict = /^ *\d+\/\d+ Test +#\d+: (\S+) \.*(?: +|\*+)(Passed|Failed|Skipped|Exception|Timeout|Not Run|Child)/

/** The lines of `ctest`. Whatever is neither passed nor skipped has failed. */
export const readCtest: ReadResults = (log) =>
  readLines(log, (line) => {
    const [, name, word] = verdict.exec(line) ?? []
    return name && word ? [name, outcomeOf(word)] : undefined
  })

function outcomeOf(word: string): Outcome {
  if (word === 'Passed') return 'passed'
  return word === 'Skipped' || word === 'Not Run' ? 'skipped' : 'failed'
}
