import type { ConfigEntry } from '@matrix/protocol/http'

/** A value as it is shown. Of a secret nobody learns more than that there is one. */
export function showValue({ value, isSecret, origin }: Pick<ConfigEntry, 'value' | 'isSecret' | 'origin'>): string {
  // The value of a secret never comes here; that it comes from somewhere tells that there is one.
  if (isSecret) return origin === 'default' ? 'not set' : 'set'
  if (value === null || value === undefined) return 'not set'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What was typed, read as the value before it: text stays text, everything else is JSON. */
export function parseValue(typed: string, before: unknown): { value: unknown } | { error: string } {
  if (typeof before === 'string') return { value: typed }
  try {
    return { value: JSON.parse(typed) }
  } catch {
    // What was not set yet may well be a text, and nobody writes quotes around a text.
    if (before === null || before === undefined) return { value: typed }
    return { error: `This has to be JSON, such as ${JSON.stringify(before)}.` }
  }
}
