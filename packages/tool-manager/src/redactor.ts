import { spellingOf } from './secret-spelling.ts'

/**
 * Takes secret values out of whatever leaves this process: as they are, in base64 at any offset, in hex, URL-encoded,
 * escaped for JSON or HTML, and each line of those with several. Reversed, split, encrypted or retold values pass.
 */
export type Redactor = {
  add(name: string, value: string): void
  text(text: string): string
  /** The same for everything inside a JSON value. */
  value<Value>(value: Value): Value
}

/** Anything shorter would make holes in ordinary text and keeps nothing secret anyway. */
const MIN_LENGTH = 4
/** A line of a longer secret is redacted on its own from this length on. */
const MIN_LINE = 8

export function openRedactor(): Redactor {
  const secrets = new Map<string, string>()
  let spelled: { pattern: RegExp; name: string }[] = []

  return {
    add(name, value) {
      const fresh = partsOf(value).filter((part) => !secrets.has(part))
      if (fresh.length === 0) return
      for (const part of fresh) secrets.set(part, name)
      // The longest first, or a secret that holds another would be left in pieces.
      spelled = [...secrets]
        .sort(([a], [b]) => b.length - a.length)
        .map(([secret, its]) => ({ pattern: spellingOf(secret), name: its }))
    },
    text: redactText,
    value: (value) => (secrets.size === 0 ? value : (redactValue(value) as typeof value)),
  }

  function redactText(text: string): string {
    let clean = text
    for (const { pattern, name } of spelled) clean = clean.replace(pattern, () => `[redacted ${name}]`)
    return clean
  }

  function redactValue(value: unknown): unknown {
    if (typeof value === 'string') return redactText(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(redactValue)
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [redactText(key), redactValue(part)]))
  }
}

/** Programs trim values and print files line by line; the frame of a PEM file is no secret. */
function partsOf(value: string): string[] {
  const lines = value.split(/[\r\n]+/).map((line) => line.trim())
  const own = lines.length > 1 ? lines.filter((line) => line.length >= MIN_LINE && !/^-+(?:BEGIN|END) /.test(line)) : []
  return [...new Set([value, value.trim(), ...own])].filter((part) => part.length >= MIN_LENGTH)
}
