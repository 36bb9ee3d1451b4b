import { RE2JS } from 're2js'

const MAX_NESTING = 16
/** Far above any pattern a person writes, low enough that the longest text is decided at once. */
const MAX_LENGTH = 2_000

const anyText = '(?s:.*)'
// What two stars between slashes stand for: one slash, or any number of folders between two.
const anyFolders = `(?:/|/${anyText}/)`
const anyPrefix = `(?:/?|${anyText}/)`

/** Whether a pattern is more than a plain name: without a `*` or `?`, brackets and braces are ordinary characters. */
export function hasWildcard(pattern: string): boolean {
  return pattern.includes('*') || pattern.includes('?')
}

/** Exact, or by wildcard. A pattern that cannot be read matches only itself. */
export function matchesGlob(pattern: string, text: string): boolean {
  return pattern === text || (hasWildcard(pattern) && compileGlob(pattern)?.(text) === true)
}

/** `*`, `**` and `?` cross `/`; `[a-z]`, `[!a-z]`, `{a,b}` and `\` as usual. `undefined` when it is not well-formed. */
export function compileGlob(pattern: string): ((text: string) => boolean) | undefined {
  if (pattern.length > MAX_LENGTH) return undefined
  const cursor: Cursor = { characters: Array.from(pattern), at: 0 }
  const expression = parseSequence(cursor, 0)
  if (expression === undefined || cursor.at < cursor.characters.length) return undefined
  // RE2 walks the text once, so no pattern, however hostile, can make it go back.
  const compiled = RE2JS.compile(expression)
  return (text) => compiled.testExact(text)
}

type Cursor = { characters: readonly string[]; at: number }

/** Up to the end, or inside braces up to the next comma or closing brace. */
function parseSequence(cursor: Cursor, nesting: number): string | undefined {
  let expression = skipRepeatedly(cursor, '**/') ? anyPrefix : ''
  while (cursor.at < cursor.characters.length) {
    const character = cursor.characters[cursor.at]
    if (nesting > 0 && (character === ',' || character === '}')) break
    const part = parseOne(cursor, nesting)
    if (part === undefined) return undefined
    expression += part
  }
  return expression
}

function parseOne(cursor: Cursor, nesting: number): string | undefined {
  if (skip(cursor, '/**/')) {
    skipRepeatedly(cursor, '**/')
    return anyFolders
  }
  if (skipRepeatedly(cursor, '*')) return anyText

  const character = cursor.characters[cursor.at] ?? ''
  cursor.at += 1
  switch (character) {
    case '?':
      return '(?s:.)'
    case '[':
      return parseClass(cursor)
    case '{':
      return parseChoice(cursor, nesting)
    case '}':
      return undefined
    case '\\':
      cursor.at += 1
      return cursor.at > cursor.characters.length ? undefined : RE2JS.quote(cursor.characters[cursor.at - 1] ?? '')
    default:
      return RE2JS.quote(character)
  }
}

function parseChoice(cursor: Cursor, nesting: number): string | undefined {
  if (nesting >= MAX_NESTING) return undefined
  const options: string[] = []
  do {
    const option = parseSequence(cursor, nesting + 1)
    if (option === undefined) return undefined
    options.push(option)
  } while (skip(cursor, ','))
  return skip(cursor, '}') ? `(?:${options.join('|')})` : undefined
}

/** A closing bracket directly after the opening stands for itself. */
function parseClass(cursor: Cursor): string | undefined {
  const isNegated = skip(cursor, '!') || skip(cursor, '^')
  const close = cursor.characters.indexOf(']', cursor.at + 1)
  if (close === -1) return undefined
  const codes = cursor.characters.slice(cursor.at, close).map((character) => character.codePointAt(0) ?? 0)
  cursor.at = close + 1

  let members = ''
  for (let index = 0; index < codes.length; index += 1) {
    const from = codes[index] ?? 0
    const isRange = codes[index + 1] === 45 && index + 2 < codes.length
    const to = isRange ? (codes[index + 2] ?? 0) : from
    if (to < from) return undefined
    members += `${codePoint(from)}-${codePoint(to)}`
    if (isRange) index += 2
  }
  return `[${isNegated ? '^' : ''}${members}]`
}

function codePoint(code: number): string {
  return `\\x{${code.toString(16)}}`
}

function skip(cursor: Cursor, text: string): boolean {
  for (let index = 0; index < text.length; index += 1)
    if (cursor.characters[cursor.at + index] !== text[index]) return false
  cursor.at += text.length
  return true
}

function skipRepeatedly(cursor: Cursor, text: string): boolean {
  const start = cursor.at
  while (skip(cursor, text)) {}
  return cursor.at > start
}
