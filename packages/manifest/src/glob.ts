import { type Automaton, compilePattern, type Pattern } from './automaton.ts'

const MAX_NESTING = 16

const anything: Pattern = { kind: 'one', matches: () => true }
const anyText: Pattern = { kind: 'repeat', part: anything, min: 0, max: Number.POSITIVE_INFINITY }
const slash = literal('/')
// What two stars between slashes stand for: one slash, or any number of folders between two.
const anyFolders: Pattern = {
  kind: 'choice',
  options: [slash, { kind: 'sequence', parts: [slash, anyText, slash] }],
}
const anyPrefix: Pattern = {
  kind: 'choice',
  options: [
    { kind: 'repeat', part: slash, min: 0, max: 1 },
    { kind: 'sequence', parts: [anyText, slash] },
  ],
}

/** Whether a pattern is more than a plain name: without a `*` or `?`, brackets and braces are ordinary characters. */
export function hasWildcard(pattern: string): boolean {
  return pattern.includes('*') || pattern.includes('?')
}

/** Exact, or by wildcard. A pattern that cannot be read matches only itself. */
export function matchesGlob(pattern: string, text: string): boolean {
  return pattern === text || (hasWildcard(pattern) && compileGlob(pattern)?.(text) === true)
}

/** `*`, `**` and `?` cross `/`; `[a-z]`, `[!a-z]`, `{a,b}` and `\` as usual. `undefined` when it is not well-formed. */
export function compileGlob(pattern: string): Automaton | undefined {
  const cursor: Cursor = { characters: Array.from(pattern), at: 0 }
  const tree = parseSequence(cursor, 0)
  return tree && cursor.at === cursor.characters.length ? compilePattern(tree) : undefined
}

type Cursor = { characters: readonly string[]; at: number }

/** Up to the end, or inside braces up to the next comma or closing brace. */
function parseSequence(cursor: Cursor, nesting: number): Pattern | undefined {
  const parts: Pattern[] = []
  if (skipRepeatedly(cursor, '**/')) parts.push(anyPrefix)
  while (cursor.at < cursor.characters.length) {
    const character = cursor.characters[cursor.at]
    if (nesting > 0 && (character === ',' || character === '}')) break
    const part = parseOne(cursor, nesting)
    if (!part) return undefined
    parts.push(part)
  }
  return { kind: 'sequence', parts }
}

function parseOne(cursor: Cursor, nesting: number): Pattern | undefined {
  if (skip(cursor, '/**/')) {
    skipRepeatedly(cursor, '**/')
    return anyFolders
  }
  if (skipRepeatedly(cursor, '*')) return anyText

  const character = cursor.characters[cursor.at] ?? ''
  cursor.at += 1
  switch (character) {
    case '?':
      return anything
    case '[':
      return parseClass(cursor)
    case '{':
      return parseChoice(cursor, nesting)
    case '}':
      return undefined
    case '\\':
      cursor.at += 1
      return cursor.at > cursor.characters.length ? undefined : literal(cursor.characters[cursor.at - 1] ?? '')
    default:
      return literal(character)
  }
}

function parseChoice(cursor: Cursor, nesting: number): Pattern | undefined {
  if (nesting >= MAX_NESTING) return undefined
  const options: Pattern[] = []
  do {
    const option = parseSequence(cursor, nesting + 1)
    if (!option) return undefined
    options.push(option)
  } while (skip(cursor, ','))
  return skip(cursor, '}') ? { kind: 'choice', options } : undefined
}

/** A closing bracket directly after the opening stands for itself. */
function parseClass(cursor: Cursor): Pattern | undefined {
  const isNegated = skip(cursor, '!') || skip(cursor, '^')
  const close = cursor.characters.indexOf(']', cursor.at + 1)
  if (close === -1) return undefined
  const codes = cursor.characters.slice(cursor.at, close).map((character) => character.codePointAt(0) ?? 0)
  cursor.at = close + 1

  const ranges: [number, number][] = []
  for (let index = 0; index < codes.length; index += 1) {
    const from = codes[index] ?? 0
    const isRange = codes[index + 1] === 45 && index + 2 < codes.length
    const to = isRange ? (codes[index + 2] ?? 0) : from
    if (to < from) return undefined
    ranges.push([from, to])
    if (isRange) index += 2
  }
  return { kind: 'one', matches: (code) => ranges.some(([from, to]) => from <= code && code <= to) !== isNegated }
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

function literal(character: string): Pattern {
  const expected = character.codePointAt(0)
  return { kind: 'one', matches: (code) => code === expected }
}
