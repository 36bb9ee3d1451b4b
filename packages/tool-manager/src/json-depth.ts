/** Nobody means anything by more, and whoever walks a value without a limit runs out of stack. */
const MAX_DEPTH = 256

/** Whether a JSON value is nested deeper than anything that is meant well. A loop without copies: every call comes by here twice. */
export function isTooDeep(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth > MAX_DEPTH) return true
  for (const key in value) if (isTooDeep((value as Record<string, unknown>)[key], depth + 1)) return true
  return false
}
