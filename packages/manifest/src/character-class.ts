/** A regular expression on the way through a parser, by code points. Parsers throw SyntaxError with the reason. */
export type TextCursor = { text: readonly string[]; at: number }

export type CharacterTest = (code: number) => boolean

const word = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u
const sets: Record<string, RegExp> = { d: /\p{Nd}/u, s: /\p{White_Space}/u, w: word }
const controls: Record<string, number> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 }

export function isWordCharacter(code: number): boolean {
  return word.test(String.fromCodePoint(code))
}

/** What follows a backslash and stands for characters: `\d`, `\n`, `\x2f`, `\.`. */
export function parseEscape(cursor: TextCursor): CharacterTest {
  const set = parseSet(cursor)
  if (set) return set
  const expected = parseEscapedCode(cursor)
  return (code) => code === expected
}

/** What follows `[`, to the closing bracket; one directly after the opening stands for itself. */
export function parseCharacterClass(cursor: TextCursor): CharacterTest {
  const isNegated = skip(cursor, '^')
  const tests: CharacterTest[] = []
  do {
    if (cursor.at >= cursor.text.length) throw new SyntaxError('a "[" is not closed')
    tests.push(parseMember(cursor))
  } while (!skip(cursor, ']'))
  return (code) => tests.some((test) => test(code)) !== isNegated
}

function parseMember(cursor: TextCursor): CharacterTest {
  if (cursor.text[cursor.at] === '\\') {
    const set = parseSet({ text: cursor.text, at: cursor.at + 1 })
    if (set) {
      cursor.at += 2
      return set
    }
  }
  const from = parseClassCode(cursor)
  if (cursor.text[cursor.at] !== '-' || cursor.text[cursor.at + 1] === ']') return (code) => code === from
  cursor.at += 1
  const to = parseClassCode(cursor)
  if (to < from) throw new SyntaxError('a range in brackets goes from high to low')
  return (code) => from <= code && code <= to
}

function parseClassCode(cursor: TextCursor): number {
  const character = cursor.text[cursor.at]
  const next = cursor.text[cursor.at + 1]
  if (character === undefined) throw new SyntaxError('a "[" is not closed')
  cursor.at += 1
  if (character === '\\') return parseEscapedCode(cursor)
  // Elsewhere these nest or combine classes; read as plain characters they would mean something else.
  if (character === '[' || (character === next && '&-~'.includes(character)))
    throw new SyntaxError(`"${character === '[' ? '[' : character + next}" inside brackets must be escaped`)
  return character.codePointAt(0) ?? 0
}

function parseSet(cursor: TextCursor): CharacterTest | undefined {
  const letter = cursor.text[cursor.at] ?? ''
  const lower = letter.toLowerCase()
  const set = Object.hasOwn(sets, lower) ? sets[lower] : undefined
  if (!set) return undefined
  cursor.at += 1
  return (code) => set.test(String.fromCodePoint(code)) === (letter === lower)
}

function parseEscapedCode(cursor: TextCursor): number {
  const letter = cursor.text[cursor.at]
  if (letter === undefined) throw new SyntaxError('it ends with a single backslash')
  cursor.at += 1
  if (Object.hasOwn(controls, letter)) return controls[letter] ?? 0
  if (letter === 'x' || letter === 'u' || letter === 'U') return parseHex(cursor, { x: 2, u: 4, U: 8 }[letter])
  if (/[0-9A-Za-z<>\u0080-\u{10FFFF}]/u.test(letter))
    throw new SyntaxError(/[1-9]/.test(letter) ? 'back-references are not supported' : `"\\${letter}" has no meaning`)
  return letter.codePointAt(0) ?? 0
}

function parseHex(cursor: TextCursor, length: number): number {
  const rest = cursor.text.slice(cursor.at, cursor.at + 12).join('')
  const [whole = '', braced, plain] = /^(?:\{([0-9A-Fa-f]{1,8})\}|([0-9A-Fa-f]+))/.exec(rest) ?? []
  const digits = braced ?? plain?.slice(0, length) ?? ''
  const code = Number.parseInt(digits, 16)
  const isCharacter = code <= 0x10ffff && !(0xd800 <= code && code <= 0xdfff)
  if (!isCharacter || (braced === undefined && digits.length < length))
    throw new SyntaxError('an escaped code is not a character')
  cursor.at += braced === undefined ? length : whole.length
  return code
}

function skip(cursor: TextCursor, character: string): boolean {
  if (cursor.text[cursor.at] !== character) return false
  cursor.at += 1
  return true
}
