import * as z from 'zod'
import { addOutcome, type Outcome, type ReadResults, type Results } from './outcome.ts'

const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
})

const outcomes: Record<string, Outcome> = { passed: 'passed', failed: 'failed' }

/** The JSON report of Jest and Vitest, the last line that is one. A file that cannot be loaded has no tests but fails. */
export const readJest: ReadResults = (log) => {
  const results: Results = new Map()
  const line = log.split(/\r?\n/).findLast((one) => one.startsWith('{') && one.includes('"testResults"'))
  if (!line) return results
  for (const { name: file, status, assertionResults } of Report.parse(JSON.parse(line)).testResults) {
    if (assertionResults.length === 0) addOutcome(results, file, outcomes[status] ?? 'skipped')
    for (const { fullName, status: ending } of assertionResults)
      addOutcome(results, `${file} ${fullName}`, outcomes[ending] ?? 'skipped')
  }
  return results
}
