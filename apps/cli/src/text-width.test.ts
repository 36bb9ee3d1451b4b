import { expect, test } from 'vitest'
import { formatTable } from './table.ts'
import { fitWidth, padWidth, textWidth, wrapText } from './text-width.ts'

test('a text is as wide as its cells: wide characters take two, marks and colours none', () => {
  expect(['abc', '漢字', 'e\u0301', '\u001B[31mred\u001B[39m', '🚀'].map(textWidth)).toEqual([3, 4, 1, 3, 2])
})

test('what does not fit ends with an ellipsis and is never too wide', () => {
  expect(fitWidth('abcdef', 4)).toBe('abc…')
  expect(fitWidth('漢字漢字', 4)).toBe('漢…')
  expect(fitWidth('abc', 3)).toBe('abc')
  expect(padWidth('漢', 4)).toBe('漢  ')
})

test('words are wrapped, lists keep their indent, and what cannot be broken stays whole', () => {
  expect(wrapText('one two three', 8)).toEqual(['one two', 'three'])
  expect(wrapText('- one two three', 9)).toEqual(['- one two', '  three'])
  expect(wrapText('see https://example.com/a/long/path now', 10)).toEqual([
    'see',
    'https://example.com/a/long/path',
    'now',
  ])
})

test('columns line up, and only the flexible one gives way', () => {
  const columns = [
    { heading: 'what', flexible: true },
    { heading: 'cost', align: 'right' as const },
  ]

  expect(
    formatTable(
      columns,
      [
        ['short', '$1'],
        ['a very long title indeed', '$10'],
      ],
      22,
    ),
  ).toEqual(['what              cost', 'short               $1', 'a very long tit…   $10'])
})
