import { addOutcome, type Outcome, type ReadResults, type Results } from './outcome.ts'

const point = /^( *)(not )?ok\b(?: +\d+)?(?: +-)?(?: +(.*))?$/
const directive = /^(.*?)(?: +|^)# *(skip|todo)\b.*$/i
const blockStart = /^( *)---\s*$/

type Point = { depth: number; name: string; outcome: Outcome }

/** TAP 12 to 14. A subtest's points stand deeper and before the point of their parent, so parents are named last. */
export const readTap: ReadResults = (log) => {
  const results: Results = new Map()
  let waiting: Point[] = []
  for (const found of findPoints(log)) {
    const below = waiting.filter(({ depth }) => depth > found.depth)
    waiting = waiting.filter(({ depth }) => depth <= found.depth)
    const children = below.map((one) => ({ ...one, depth: found.depth, name: `${found.name} > ${one.name}` }))
    waiting.push(...children, found)
    if (found.depth > 0) continue
    for (const { name, outcome } of waiting) addOutcome(results, name, outcome)
    waiting = []
  }
  for (const { name, outcome } of waiting) addOutcome(results, name, outcome)
  return results
}

function* findPoints(log: string): Generator<Point> {
  let blockIndent: string | undefined
  for (const line of log.split(/\r?\n/)) {
    if (blockIndent !== undefined) {
      if (line === `${blockIndent}...`) blockIndent = undefined
      continue
    }
    blockIndent = blockStart.exec(line)?.[1]
    const [matched, indent = '', not, text = ''] = point.exec(line) ?? []
    if (matched === undefined) continue
    const [, name = text, mark] = directive.exec(text) ?? []
    yield { depth: indent.length, name: name.trim(), outcome: outcomeOf(not, mark) }
  }
}

/** A failing `todo` does not fail its suite. */
function outcomeOf(not: string | undefined, mark: string | undefined): Outcome {
  if (mark) return 'skipped'
  return not ? 'failed' : 'passed'
}
