import { type Automaton, compilePattern, type Pattern } from './automaton.ts'
import {
  type CharacterTest,
  isWordCharacter,
  parseCharacterClass,
  parseEscape,
  type TextCursor,
} from './character-class.ts'

const MAX_NESTING = 64
const MAX_COUNT = 1000

type Flags = { ignoreCase: boolean; dotAll: boolean; multiLine: boolean }

/** A regular expression over a whole command, or why it is none. */
export type CommandPattern = { matches: Automaton } | { reason: string }

/**
 * Reads the notation that command lists are written in: regular expressions without look-around and back-references,
 * which is what makes it possible to match any of them in one pass over the command.
 */
export function parseCommandPattern(text: string, { dotAll = false } = {}): CommandPattern {
  const cursor: TextCursor = { text: Array.from(text), at: 0 }
  try {
    const tree = parseAlternatives(cursor, { ignoreCase: false, dotAll, multiLine: false }, 0)
    if (cursor.at < cursor.text.length) return { reason: 'a ")" has no "(" before it' }
    const matches = compilePattern(tree)
    return matches ? { matches } : { reason: 'it is too large' }
  } catch (error) {
    if (error instanceof SyntaxError) return { reason: error.message }
    throw error
  }
}

/** Whether one of the patterns is the whole command. One that cannot be read allows nothing. */
export function isCommandAllowed(patterns: readonly string[], command: string): boolean {
  return patterns.some((text) => {
    const pattern = parseCommandPattern(text)
    return 'matches' in pattern && pattern.matches(command)
  })
}

/**
 * The same for a deny list, erring on the side of denial: one that cannot be read denies everything, and `.` also
 * matches a line break, or a second line would be a way past it.
 */
export function isCommandDenied(patterns: readonly string[], command: string): boolean {
  return patterns.some((text) => {
    const pattern = parseCommandPattern(text, { dotAll: true })
    return !('matches' in pattern) || pattern.matches(command)
  })
}

function parseAlternatives(cursor: TextCursor, outer: Flags, nesting: number): Pattern {
  if (nesting > MAX_NESTING) throw new SyntaxError('its groups are nested too deeply')
  const options: Pattern[][] = [[]]
  let flags = outer
  while (cursor.at < cursor.text.length && cursor.text[cursor.at] !== ')') {
    if (skip(cursor, '|')) {
      options.push([])
      continue
    }
    const switched = parseFlagSwitch(cursor, flags)
    if (switched) flags = switched
    else options.at(-1)?.push(parseRepeated(cursor, flags, nesting))
  }
  const sequences = options.map((parts): Pattern => ({ kind: 'sequence', parts }))
  return { kind: 'choice', options: sequences }
}

function parseRepeated(cursor: TextCursor, flags: Flags, nesting: number): Pattern {
  let pattern = parseOne(cursor, flags, nesting)
  for (let range = parseRange(cursor); range; range = parseRange(cursor)) {
    const [min, max] = range
    pattern = { kind: 'repeat', part: pattern, min, max }
    // Greedy or lazy changes which match is found, never whether there is one.
    skip(cursor, '?')
  }
  return pattern
}

function parseRange(cursor: TextCursor): [min: number, max: number] | undefined {
  if (skip(cursor, '*')) return [0, Number.POSITIVE_INFINITY]
  if (skip(cursor, '+')) return [1, Number.POSITIVE_INFINITY]
  if (skip(cursor, '?')) return [0, 1]
  if (cursor.text[cursor.at] !== '{') return undefined

  const close = cursor.text.indexOf('}', cursor.at)
  const [, from, comma, to] = /^\{(\d+)(,)?(\d+)?$/.exec(cursor.text.slice(cursor.at, close).join('')) ?? []
  if (close === -1 || from === undefined || (to !== undefined && !comma))
    throw new SyntaxError('a "{" must be escaped, or hold a count such as {2,5}')
  cursor.at = close + 1
  const min = Number(from)
  const max = to === undefined ? (comma ? Number.POSITIVE_INFINITY : min) : Number(to)
  if (max < min || min > MAX_COUNT || (max > MAX_COUNT && max !== Number.POSITIVE_INFINITY))
    throw new SyntaxError(`a count goes from low to high and up to ${MAX_COUNT}`)
  return [min, max]
}

function parseOne(cursor: TextCursor, flags: Flags, nesting: number): Pattern {
  const character = cursor.text[cursor.at] ?? ''
  cursor.at += 1
  switch (character) {
    case '(':
      return parseGroup(cursor, flags, nesting)
    case '[':
      return one(parseCharacterClass(cursor), flags)
    case '.':
      return one((code) => flags.dotAll || code !== 10, { ...flags, ignoreCase: false })
    case '^':
      return boundary((before) => before === undefined || (flags.multiLine && before === 10))
    case '$':
      return boundary((_, after) => after === undefined || (flags.multiLine && after === 10))
    case '\\':
      return parseBackslash(cursor, flags)
    case '*':
    case '+':
    case '?':
    case '{':
      throw new SyntaxError(`there is nothing before "${character}" that it could repeat`)
    default: {
      const expected = character.codePointAt(0)
      return one((code) => code === expected, flags)
    }
  }
}

function parseGroup(cursor: TextCursor, flags: Flags, nesting: number): Pattern {
  let inner = flags
  if (skip(cursor, '?')) {
    const [head, name, on, off] = /^(?:P?<([A-Za-z_]\w*)>|([a-zA-Z]*)(-[a-zA-Z]+)?:)/.exec(ahead(cursor)) ?? []
    if (head === undefined) throw new SyntaxError('look-around and other extended groups are not supported')
    if (name === undefined) inner = switchFlags(flags, on ?? '', off ?? '')
    cursor.at += head.length
  }
  const pattern = parseAlternatives(cursor, inner, nesting + 1)
  if (!skip(cursor, ')')) throw new SyntaxError('a "(" is not closed')
  return pattern
}

/** `(?i)`: for the rest of the group it stands in. */
function parseFlagSwitch(cursor: TextCursor, flags: Flags): Flags | undefined {
  const [whole, on = '', off = ''] = /^\(\?([a-zA-Z]*)(-[a-zA-Z]+)?\)/.exec(ahead(cursor)) ?? []
  if (whole === undefined || whole === '(?)') return undefined
  cursor.at += whole.length
  return switchFlags(flags, on, off)
}

function switchFlags(flags: Flags, on: string, off: string): Flags {
  const changed = { ...flags }
  for (const [letters, value] of [
    [on, true],
    [off.slice(1), false],
  ] as const)
    for (const letter of letters) {
      if (letter === 'i') changed.ignoreCase = value
      else if (letter === 's') changed.dotAll = value
      else if (letter === 'm') changed.multiLine = value
      else if (letter !== 'U') throw new SyntaxError(`the flag "${letter}" is not supported`)
    }
  return changed
}

const isWord = (code: number | undefined) => code !== undefined && isWordCharacter(code)

const boundaries = new Map<string | undefined, Pattern>([
  ['A', boundary((before) => before === undefined)],
  ['z', boundary((_, after) => after === undefined)],
  ['b', boundary((before, after) => isWord(before) !== isWord(after))],
  ['B', boundary((before, after) => isWord(before) === isWord(after))],
])

function parseBackslash(cursor: TextCursor, flags: Flags): Pattern {
  const found = boundaries.get(cursor.text[cursor.at])
  if (!found) return one(parseEscape(cursor), flags)
  cursor.at += 1
  return found
}

function one(matches: CharacterTest, { ignoreCase }: Flags): Pattern {
  if (!ignoreCase) return { kind: 'one', matches }
  return {
    kind: 'one',
    matches: (code) => {
      const character = String.fromCodePoint(code)
      return [character, character.toLowerCase(), character.toUpperCase()].some((variant) =>
        // A character whose other case is two characters has, for matching, only itself.
        [...variant].length === 1 ? matches(variant.codePointAt(0) ?? 0) : false,
      )
    },
  }
}

function boundary(holds: (before: number | undefined, after: number | undefined) => boolean): Pattern {
  return { kind: 'boundary', holds }
}

function skip(cursor: TextCursor, character: string): boolean {
  if (cursor.text[cursor.at] !== character) return false
  cursor.at += 1
  return true
}

/** Enough of what follows to recognise the head of a group. */
function ahead(cursor: TextCursor): string {
  return cursor.text.slice(cursor.at, cursor.at + 64).join('')
}
