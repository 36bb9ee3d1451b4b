import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findHiddenCharacters, hasHiddenCharacters, printable, printableLine } from './hidden-characters.ts'

const hiddenSamples = [
  '\u001b[31mred', // colour
  '\u001b]52;c;aGk=\u0007', // writes the clipboard
  '\u009b2J', // one-character CSI
  'a\rb', // overwrites the line
  'user\u202Etxt.exe', // turns the reading order round
  'in\u200Bvisible',
  '\u{E0049}\u{E0047}', // text in Unicode tags
  'pay\u2066load',
  '\uD800', // half a character
]

test('terminal escapes, bidi overrides, zero-width marks and tag characters are found and made visible', () => {
  for (const sample of hiddenSamples) {
    expect(hasHiddenCharacters(sample), JSON.stringify(sample)).toBe(true)
    expect(hasHiddenCharacters(printable(sample))).toBe(false)
  }
  expect(findHiddenCharacters('a\u202Eb\u202Ec\u{E0041}')).toEqual(['U+202E', 'U+E0041'])
  expect(printable('\u001b[31m')).toBe('<U+001B>[31m')
})

test('ordinary text in any script is left alone', () => {
  for (const text of ['Grüße, Welt', '日本語のテキスト', 'שלום', '👍 ok', '👩‍👩‍👧 ❤️', 'a\tb\nc']) {
    expect(printable(text)).toBe(text)
    expect(hasHiddenCharacters(text)).toBe(false)
  }
})

test('no text whatever becomes more than one line, or keeps a hidden character, once it is made a line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const line = printableLine(text)
      expect(hasHiddenCharacters(line)).toBe(false)
      expect(line).not.toMatch(/[\n\r\t]/)
    }),
  )
})
