import { isLiteralCredential } from '../manifest/credential.ts'

/** Something that another program fills in when it starts a server; here, an environment variable. */
export type Gap = {
  /** Two gaps with one key are one variable. */
  key: string
  /** What to call the variable. */
  variable: string
  /** Whether that name is given, wanted unless taken, or to be prefixed with the server's own. */
  naming: 'given' | 'shared' | 'own'
  /** What the file says to use when the variable is not set. */
  fallback?: string | undefined
}

/** A value with gaps in it. */
export type Template = readonly (string | Gap)[]

const environmentName = /^[A-Za-z_]\w*$/

/** Takes a text apart at `$env:NAME` and at what `pattern` finds; `fill` says what stands in for its first group, or keeps it as it is. */
export function parseTemplate(
  text: string,
  pattern: RegExp,
  fill: (expression: string) => Template | undefined,
): Template {
  const parts: (string | Gap)[] = []
  let end = 0
  // Nearly every text of a file has no gap.
  if (!/[${]/.test(text)) return text === '' ? [] : [text]
  for (const found of text.matchAll(new RegExp(`\\$env:([A-Za-z_]\\w*)|${pattern.source}`, 'g'))) {
    const [whole, name, expression = ''] = found
    const filling = name === undefined ? fill(expression) : [environmentGap(name)]
    // A token where a name should be is text that must go through the search for credentials.
    if (!filling || isLiteralCredential('', whole)) continue
    parts.push(text.slice(end, found.index), ...filling)
    end = found.index + whole.length
  }
  parts.push(text.slice(end))
  return parts.filter((part) => part !== '')
}

export function environmentGap(name: string, fallback?: string): Gap {
  return { key: `env:${name}`, variable: name, naming: 'given', fallback }
}

/** A name for an environment variable out of any words: `api-key`, `apiKey` and `API key` become API_KEY. */
export function variableName(words: string): string {
  const name = words
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 64)
  return environmentName.test(name) ? name : `VALUE${name && `_${name}`}`
}

/** Whether `$env:NAME` in place of each gap could be read back: a letter right after it would become part of the name. */
export function isWritable(template: Template): boolean {
  return template.every((part, index) => {
    const next = template[index + 1]
    return typeof part === 'string' || typeof next !== 'string' || !/^\w/.test(next)
  })
}
