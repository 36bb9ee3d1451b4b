/** Takes secret values out of whatever leaves this process, in every spelling they are likely to appear in. */
export type Redactor = {
  add(name: string, value: string): void
  text(text: string): string
  /** The same for everything inside a JSON value. */
  value<Value>(value: Value): Value
}

/** Anything shorter would make holes in ordinary text and keeps nothing secret anyway. */
const MIN_LENGTH = 4

export function openRedactor(): Redactor {
  const secrets = new Map<string, string>()
  let spelled: [spelling: string, name: string][] = []

  return {
    add(name, value) {
      if (value.length < MIN_LENGTH || secrets.get(value) === name) return
      secrets.set(value, name)
      // The longest first, or a secret that holds another would be left in pieces.
      spelled = [...secrets]
        .flatMap(([secret, its]) => spellings(secret).map((each): [string, string] => [each, its]))
        .sort(([a], [b]) => b.length - a.length)
    },
    text: redactText,
    value: (value) => (secrets.size === 0 ? value : (redactValue(value) as typeof value)),
  }

  function redactText(text: string): string {
    let clean = text
    for (const [spelling, name] of spelled)
      if (clean.includes(spelling)) clean = clean.replaceAll(spelling, `[redacted ${name}]`)
    return clean
  }

  function redactValue(value: unknown): unknown {
    if (typeof value === 'string') return redactText(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(redactValue)
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [redactText(key), redactValue(part)]))
  }
}

function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [
    ...new Set([
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      bytes.toString('base64').replace(/=+$/, ''),
      bytes.toString('base64url'),
      bytes.toString('hex'),
    ]),
  ]
}
