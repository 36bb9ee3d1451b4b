import { isStopped, type Outcome } from './attack.ts'
import { type BenignOutcome, isQuiet } from './benign.ts'

/** The attacks with the layer that stopped each and the words that show it, one family below the other. */
export function formatTable(outcomes: readonly Outcome[]): string[] {
  const rows = outcomes.map((outcome) => [
    isStopped(outcome) ? 'stopped' : outcome.reached.length > 0 ? 'REACHED' : 'UNCLEAR',
    outcome.attack.layer,
    `${outcome.family}: ${outcome.attack.name}`,
    outcome.reached[0] ?? shorten(outcome.evidence ?? `not expected: ${outcome.seen || 'nothing was seen'}`),
  ])
  const all = [['', 'layer', 'attack', 'evidence'], ...rows]
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** The work that must not be hindered, and how much of it asked the user nothing. */
export function formatWork(name: string, outcomes: readonly BenignOutcome[]): string[] {
  const rows = outcomes.map((outcome) => {
    const state = isQuiet(outcome) ? 'unasked' : outcome.asked.length > 0 ? 'ASKED  ' : 'UNDONE '
    const why = isQuiet(outcome) ? '' : shorten(outcome.asked[0] ?? outcome.seen)
    return `${state}  ${name}: ${outcome.name}  ${why}`.trimEnd()
  })
  return [...rows, `${name}: ${outcomes.filter(isQuiet).length} of ${outcomes.length} done without a question`]
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 60 ? `${line.slice(0, 59)}…` : line
}
