/** Nobody means anything by more, and whoever walks such a value by recursion runs out of stack. */
const MAX_DEPTH = 256

/** Whether a JSON value is nested deeper than anything that is meant well. Needs no stack of its own to say so. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []))
  }
  return false
}
