import fc from 'fast-check'
import { expect, test } from 'vitest'
import { layOver } from './text-layers.ts'

const red = { color: 'red', dark: 'red' }
const blue = { color: 'blue', dark: 'blue' }

test('a line is cut where its colour changes and where its change begins', () => {
  const pieces = layOver(
    [
      { kind: 'same', text: 'return ' },
      { kind: 'added', text: 'Math' },
    ],
    [
      { content: 'ret', ...red },
      { content: 'urn Math', ...blue },
    ],
  )

  expect(pieces.map(({ text, isChanged, token }) => [text, isChanged, token?.color])).toEqual([
    ['ret', false, 'red'],
    ['urn ', false, 'blue'],
    ['Math', true, 'blue'],
  ])
})

test('whatever the colours, no letter is lost, doubled or moved', () => {
  const text = fc.string({ maxLength: 12 })
  fc.assert(
    fc.property(fc.array(text), fc.array(text), (parts, tokens) => {
      const pieces = layOver(
        parts.map((part, index) => ({ kind: index % 2 === 0 ? 'same' : 'added', text: part })),
        tokens.map((content) => ({ content, ...red })),
      )

      expect(pieces.map((piece) => piece.text).join('')).toBe(parts.join(''))
    }),
  )
})
