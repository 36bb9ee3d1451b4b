import { canonicalForm } from '../manifest/digest.ts'

/** Whether two JSON values say the same, whatever the order of their keys; a key without a value is no key. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && isSameList(a, b)
  return isSameObject(a as Record<string, unknown>, b as Record<string, unknown>)
}

// Plain loops: this is the check of every definition on every connection, and often the first thing a process does.
function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index += 1) if (!isSameJson(a[index], b[index])) return false
  return true
}

function isSameObject(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  let keys = 0
  for (const key of Object.keys(a)) {
    if (a[key] === undefined) continue
    keys += 1
    if (!Object.hasOwn(b, key) || !isSameJson(a[key], b[key])) return false
  }
  for (const key of Object.keys(b)) if (b[key] !== undefined) keys -= 1
  return keys === 0
}

/** The same, but with lists as sets: what stands in which place of a list does not count either. */
export function isSameUnordered(a: unknown, b: unknown): boolean {
  return isSameJson(sorted(a), sorted(b))
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const texts = value.map((each) => canonicalForm(sorted(each)))
    return [...new Set(texts)].sort()
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, sorted(each)]))
}
