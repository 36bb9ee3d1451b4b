import fc from 'fast-check'
import { expect, test } from 'vitest'
import { removedNote, removeInvisible, removeInvisibleDeep } from './invisible-text.ts'

test.each<[string, string, string]>([
  ['tags', `a${tags('ignore')}b`, 'ab'],
  ['tags behind a flag that is none', `\u{1F3F4}${tags('secret')}\u{E007F}`, '\u{1F3F4}'],
  ['tags behind a whole flag', `🏴󠁧󠁢󠁥󠁮󠁧󠁿${tags('no')}`, '🏴󠁧󠁢󠁥󠁮󠁧󠁿'],
  ['zero-width marks', 'pass\u200Bword\u2060\uFEFF', 'password'],
  ['joiners in Latin text', 'a\u200Db\u200Cc', 'abc'],
  ['bits of joiners', 'می\u200C\u200D\u200C\u200Cخ', 'می\u200Cخ'],
  ['bidirectional controls', '/*\u202E } \u2066if (admin)\u2069 */', '/* } if (admin) */'],
  ['direction marks in Latin text', 'a\u200E\u200Fb', 'ab'],
  ['bytes in variation selectors', `😀${'\uFE01\uFE05\u{E0100}\u{E0142}'}`, '😀'],
  ['a selector for a letter', 'a\uFE0F\uFE01', 'a'],
  ['fillers and soft hyphens', 'a\u3164\u115Fb\u00ADc', 'abc'],
])('%s are removed', (_, text, seen) => {
  expect(removeInvisible(text)).toEqual({ text: seen, removed: [...text].length - [...seen].length })
})

test.each([
  '👩‍👩‍👧 ❤️ 👍🏽 🏳️‍🌈 👩🏽‍🚀 1️⃣ ☎︎ 🏴󠁧󠁢󠁥󠁮󠁧󠁿🏴󠁧󠁢󠁳󠁣󠁴󠁿 🇩🇪',
  'می‌خواهم کتاب‌ها را بخوانم',
  'שלום \u200F(עולם)\u200F!',
  'क्‍ष क्‌ष ശ്രീ ක්‍රි',
  '葛\u{E0100}城市 ≨︀',
  '日本語のテキスト、한국어 텍스트',
  'const re = /\\u200B/g // \u001b[31m\r\n\tif (a) { b() }\n\f',
  'ﷺ ؀ ۝ ́e',
])('%j is left as it is', (text) => {
  expect(removeInvisible(text)).toEqual({ text, removed: 0 })
})

test('no text keeps two invisible characters in a row outside of an emoji', () => {
  const pieces = fc.constantFrom(
    'a',
    '😀',
    'م',
    'क',
    '葛',
    '\u200D',
    '\u200C',
    '\u200B',
    '\u202E',
    '\u200F',
    '\uFE0F',
    '\uFE01',
    '\u{E0041}',
    '\u{E0100}',
    '\u{1F3F4}',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
      const { text } = removeInvisible(parts.join(''))

      expect(text.replace(/\uFE0F\u200D/g, '')).not.toMatch(
        /(?:[\u200B-\u200F\u202A-\u202E]|[\uFE00-\uFE0F]|[\u{E0000}-\u{E0FFF}]){2}/u,
      )
    }),
    { numRuns: 2000 },
  )
})

test('every text of a value is read, names of fields too', () => {
  expect(removeInvisibleDeep({ 'a\u200B': [{ b: 'c\u200B' }, 1, null] })).toEqual({ a: [{ b: 'c' }, 1, null] })
  expect(removedNote(2)).toBe('[2 invisible characters were removed here]')
})

test('a long text is read within a moment', () => {
  const text = '日本語\u200B 😀\uFE0F'.repeat(100_000)
  const start = performance.now()
  removeInvisible(text)

  expect(performance.now() - start).toBeLessThan(3_000)
})

function tags(text: string): string {
  return [...text].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('')
}
