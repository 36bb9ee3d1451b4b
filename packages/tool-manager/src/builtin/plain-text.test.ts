import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cleanText, openPlainText } from './plain-text.ts'

test('colours, titles and cursor moves are left out', () => {
  expect(cleanText('\u001B[31mred\u001B[0m \u001B]0;title\u0007\u001B[2K\u001B[1Gend\n')).toBe('red end\n')
})

test('of a line that was drawn over only the last state is kept', () => {
  expect(cleanText('10%\r50%\r100%\ndone\r\n')).toBe('100%\ndone\n')
})

test('characters that no terminal shows are dropped, tabs and newlines kept', () => {
  expect(cleanText('a\u0000b\u0007\tc\n')).toBe('ab\tc\n')
})

test('a progress bar that never ends its line keeps little in memory', () => {
  const text = openPlainText()
  for (let step = 0; step < 50_000; step += 1) expect(text.add(Buffer.from(`\r${step} of 50000`))).toBe('')

  expect(text.line()).toBe('49999 of 50000')
  expect(text.finish()).toBe('49999 of 50000')
})

test('a line without end is handed on in pieces, and nothing of it is lost', () => {
  const text = openPlainText()
  let seen = ''
  for (let index = 0; index < 300; index += 1) seen += text.add(Buffer.alloc(1000, 'x'))

  expect((seen + text.finish()).length).toBe(300_000)
})

test('the result does not depend on where the pieces are cut', () => {
  const piece = fc.constantFrom('a', 'ä', '€', '😀', '\n', '\r\n', '\t', 'words ', '\u001B[1mb\u001B[0m')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), fc.integer({ min: 1, max: 7 }), (pieces, size) => {
      const bytes = Buffer.from(pieces.join(''))
      const text = openPlainText()
      let seen = ''
      for (let at = 0; at < bytes.length; at += size) seen += text.add(bytes.subarray(at, at + size))

      expect(seen + text.finish()).toBe(cleanText(pieces.join('')))
    }),
  )
})

test('bytes that are no text become replacement characters', () => {
  const text = openPlainText()

  expect(text.add(Buffer.from([0x61, 0xff, 0xfe, 0x0a]))).toBe('a\uFFFD\uFFFD\n')
})
