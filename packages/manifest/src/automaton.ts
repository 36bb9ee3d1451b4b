/** A pattern as a tree, whatever notation it was written in. It always speaks about a whole text, by code points. */
export type Pattern =
  | { kind: 'one'; matches: (code: number) => boolean }
  | { kind: 'boundary'; holds: (before: number | undefined, after: number | undefined) => boolean }
  | { kind: 'sequence'; parts: readonly Pattern[] }
  | { kind: 'choice'; options: readonly Pattern[] }
  | { kind: 'repeat'; part: Pattern; min: number; max: number }

/** Whether the pattern matches the whole of a text. */
export type Automaton = (text: string) => boolean

type Step = Extract<Pattern, { kind: 'one' | 'boundary' }> | { kind: 'split'; to: number[] } | { kind: 'end' }

/** Far above any pattern a person writes, low enough that the longest text is decided at once. */
const MAX_STEPS = 5_000

/**
 * Makes a matcher that walks the text once and keeps every possibility in hand, so that no pattern, however hostile,
 * can make it go back. `undefined` when the pattern is too big.
 */
export function compilePattern(pattern: Pattern): Automaton | undefined {
  const steps: Step[] = []
  if (!emit(pattern, steps, { left: MAX_STEPS })) return undefined
  steps.push({ kind: 'end' })
  return (text) => run(steps, text)
}

/** False when the budget is used up. Empty parts cost too, or `(){1000}` inside itself would never end. */
function emit(pattern: Pattern, steps: Step[], budget: { left: number }): boolean {
  budget.left -= 1
  if (budget.left < 0) return false
  switch (pattern.kind) {
    case 'one':
    case 'boundary':
      steps.push(pattern)
      return true
    case 'sequence':
      return pattern.parts.every((part) => emit(part, steps, budget))
    case 'choice':
      return emitChoice(pattern.options, steps, budget)
    case 'repeat':
      return emitRepeat(pattern, steps, budget)
    default:
      return pattern satisfies never
  }
}

function emitChoice(options: readonly Pattern[], steps: Step[], budget: { left: number }): boolean {
  const entry = addSplit(steps)
  const exits: number[][] = []
  for (const option of options) {
    entry.push(steps.length)
    if (!emit(option, steps, budget)) return false
    exits.push(addSplit(steps))
  }
  for (const exit of exits) exit.push(steps.length)
  return true
}

function emitRepeat(
  { part, min, max }: Extract<Pattern, { kind: 'repeat' }>,
  steps: Step[],
  budget: { left: number },
): boolean {
  for (let count = 0; count < min; count += 1) if (!emit(part, steps, budget)) return false

  if (max === Number.POSITIVE_INFINITY) {
    const start = steps.length
    const loop = addSplit(steps)
    loop.push(steps.length)
    if (!emit(part, steps, budget)) return false
    addSplit(steps).push(start)
    loop.push(steps.length)
    return true
  }

  const exits: number[][] = []
  for (let count = min; count < max; count += 1) {
    const split = addSplit(steps)
    split.push(steps.length)
    exits.push(split)
    if (!emit(part, steps, budget)) return false
  }
  for (const exit of exits) exit.push(steps.length)
  return true
}

function addSplit(steps: Step[]): number[] {
  const to: number[] = []
  steps.push({ kind: 'split', to })
  return to
}

function run(steps: readonly Step[], text: string): boolean {
  const codes = Array.from(text, (character) => character.codePointAt(0) ?? 0)
  const seen = new Int32Array(steps.length).fill(-1)
  let waiting = reach([0], 0)

  for (let at = 0; at < codes.length && waiting.length > 0; at += 1) {
    const code = codes[at] ?? 0
    const next = waiting.filter((index) => {
      const step = steps[index]
      return step?.kind === 'one' && step.matches(code)
    })
    waiting = reach(
      next.map((index) => index + 1),
      at + 1,
    )
  }
  // Where the text ran out first, nothing waits any more; where the pattern did, `end` waits at the last position.
  return seen[steps.length - 1] === codes.length

  /** Follows everything that consumes no character; what is left waits for one. */
  function reach(from: number[], at: number): number[] {
    const stops: number[] = []
    for (let index = from.pop(); index !== undefined; index = from.pop()) {
      if (seen[index] === at) continue
      seen[index] = at
      const step = steps[index]
      if (step?.kind === 'one') stops.push(index)
      else if (step?.kind === 'split') from.push(...step.to)
      else if (step?.kind === 'boundary' && step.holds(codes[at - 1], codes[at])) from.push(index + 1)
    }
    return stops
  }
}
