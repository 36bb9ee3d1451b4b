import { hasHiddenCharacters } from '@matrix/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diffWords, excerpt, formatTextDiff } from './text-diff.ts'

test('a changed word is shown between the words around it', () => {
  expect(formatTextDiff('Reads one file as text.', 'Reads any file as text.')).toBe(
    'Reads [-one-] {+any+} file as text.',
  )
})

test('long stretches that stayed the same are left out', () => {
  const before = 'one two three four five six old seven eight nine ten eleven'
  const after = 'one two three four five six new seven eight nine ten eleven and more'

  expect(formatTextDiff(before, after)).toBe('… four five six [-old-] {+new+} seven eight nine ten eleven {+and more+}')
  expect(formatTextDiff(`${before} ${before}`, `${before} ${before} end`)).toBe('… nine ten eleven {+end+}')
})

test('a text that only appears or only goes is shown as such', () => {
  expect(formatTextDiff('', 'Now it speaks.')).toBe('{+Now it speaks.+}')
  expect(formatTextDiff('Now it speaks.', '')).toBe('[-Now it speaks.-]')
})

test('other spacing alone is named, not shown', () => {
  expect(formatTextDiff('a b', 'a\n  b')).toBe('only spaces or line breaks differ')
})

test('the parts of a difference are the two texts again', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 30 })
  fc.assert(
    fc.property(text, text, (before, after) => {
      const parts = diffWords(before.join(' '), after.join(' '))
      const without = (kind: string) => parts.filter((part) => part.kind !== kind).flatMap(({ words }) => words)
      expect(without('added')).toEqual(before)
      expect(without('removed')).toEqual(after)
    }),
  )
})

test('as many words as possible are kept', () => {
  expect(formatTextDiff('a b c d', 'b c d a')).toBe('[-a-] b c d {+a+}')
  expect(formatTextDiff('x a y b z c', 'a x b y c z')).toMatch(/^(?:\S+ ){8}\S+$/)
})

test('one word in a long text is found, however long the text', () => {
  const words = Array.from({ length: 20_000 }, (_, index) => `word${index}`)
  const after = words.with(10_000, 'other')
  expect(formatTextDiff(words.join(' '), after.join(' '))).toBe(
    '… word9997 word9998 word9999 [-word10000-] {+other+} word10001 word10002 word10003 …',
  )
})

test('equal texts have no difference, and no more words change than there are', () => {
  expect(diffWords('a b c', 'a b c')).toEqual([{ kind: 'same', words: ['a', 'b', 'c'] }])
  expect(diffWords('', '')).toEqual([])
})

const hostile = fc.string({
  unit: fc.constantFrom('a', 'b', ' ', '\n', '\r', '\u001b', '\u202E', '\u{E0041}', '😀', '\ud800'),
})

test('whatever a server sends, the line is printable and short, and comes at once', () => {
  const huge = 'word '.repeat(20_000)
  const started = process.cpuUsage()
  expect(formatTextDiff(huge, `ignore ${huge.replaceAll('word', 'other')}`).length).toBeLessThanOrEqual(800)
  expect(process.cpuUsage(started).user / 1000).toBeLessThan(1000)

  fc.assert(
    fc.property(hostile, hostile, (before, after) => {
      const line = formatTextDiff(before, after)
      expect(line).not.toMatch(/[\n\r\t]/)
      expect(hasHiddenCharacters(line)).toBe(false)
    }),
  )
})

test('an excerpt is cut with a mark', () => {
  expect(excerpt('a\u001b[2Jb')).toBe('a<U+001B>[2Jb')
  expect(excerpt('abcdef', 4)).toBe('abc…')
})
