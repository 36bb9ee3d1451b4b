import { type Outcome, type ReadResults, readLines } from './outcome.ts'

const outcomes: Record<string, Outcome> = { pass: 'passed', fail: 'failed', skip: 'skipped' }

/** `go test -json`: one event a line. Packages end too; one that does not build has no tests but fails. */
export const readGo: ReadResults = (log) =>
  readLines(log, (line) => {
    const event = parseEvent(line)
    const outcome = outcomes[event?.Action ?? '']
    return event?.Package && outcome ? [[event.Package, event.Test].filter(Boolean).join(' '), outcome] : undefined
  })

type GoEvent = { Action?: string; Package?: string; Test?: string }

function parseEvent(line: string): GoEvent | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as GoEvent
  } catch {
    return undefined
  }
}
