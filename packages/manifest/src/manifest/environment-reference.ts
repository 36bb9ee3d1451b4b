const reference = /\$env:([A-Za-z_][A-Za-z0-9_]*)/g
const malformed = /\$env:(?![A-Za-z_])|\$\{([A-Za-z_][\w.]*(?::(?!-)[\w.-]+)?)(:-[^{}]*)?\}/

/** Every NAME that a text refers to as `$env:NAME`. */
export function findEnvironmentNames(text: string): string[] {
  return [...text.matchAll(reference)].map(([, name = '']) => name)
}

/** What looks like a reference but would reach the server as it stands: `$env:` without a name, or another program's `${NAME}`. */
export function findMalformedReference(text: string): string | undefined {
  const [found, name, fallback] = text.includes('$') ? (malformed.exec(text) ?? []) : []
  // The answer is printed, and what stands behind `:-` may be the credential itself.
  return fallback === undefined ? found : `\${${name}:-…}`
}

/** Replaces each `$env:NAME`. Names without a value are returned instead of being left in place or emptied. */
export function resolveEnvironment(
  text: string,
  lookUp: (name: string) => string | undefined,
): { text: string } | { missing: string[] } {
  const missing = findEnvironmentNames(text).filter((name) => lookUp(name) === undefined)
  return missing.length > 0 ? { missing } : { text: text.replace(reference, (_, name: string) => lookUp(name) ?? '') }
}

/**
 * `env` and `headers` in either of their two spellings, as pairs with the way to each. A bare `$env:NAME` stands for
 * `NAME=$env:NAME`; any other entry without `=` is a value without a name, since names are printed and it may be a credential.
 */
export type Assignment = { name: string; value: string; step: string | number }

export function readAssignments(
  entries: readonly string[] | Readonly<Record<string, string>> | undefined,
): Assignment[] {
  if (!entries) return []
  if (!isList(entries)) return Object.entries(entries).map(([name, value]) => ({ name, value, step: name }))
  return entries.map((entry, step) => {
    const bare = /^\$env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(entry)
    const split = entry.indexOf('=')
    if (bare?.[1]) return { name: bare[1], value: entry, step }
    return split === -1
      ? { name: '', value: entry, step }
      : { name: entry.slice(0, split), value: entry.slice(split + 1), step }
  })
}

function isList(entries: readonly string[] | Readonly<Record<string, string>>): entries is readonly string[] {
  return Array.isArray(entries)
}
