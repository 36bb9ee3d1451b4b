export type Outcome = 'passed' | 'failed' | 'skipped'

/** Test by test: a name, and how every test of that name ended. Suites run files side by side, so order means nothing. */
export type Results = Map<string, Outcome[]>

/** Reads what a test run printed. Lines that it does not know are output of the tests. */
export type ReadResults = (log: string) => Results

export function addOutcome(results: Results, name: string, outcome: Outcome): void {
  const outcomes = results.get(name)
  if (outcomes) outcomes.push(outcome)
  else results.set(name, [outcome])
}

/** What a line-based runner printed; `read` answers with the test a line is about, if any. */
export function readLines(log: string, read: (line: string) => [name: string, outcome: Outcome] | undefined): Results {
  const results: Results = new Map()
  for (const line of log.split(/\r?\n/)) {
    const found = read(line)
    if (found) addOutcome(results, ...found)
  }
  return results
}
