import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { markedParts } from './marks.ts'

test('a snippet is cut where its marks begin and end', () => {
  expect(markedParts({ text: 'one two three', marks: [[4, 7]] })).toEqual([
    { text: 'one ', isMarked: false, start: 0 },
    { text: 'two', isMarked: true, start: 4 },
    { text: ' three', isMarked: false, start: 7 },
  ])
})

test('whatever the marks say, the text stays whole', () => {
  const mark = fc.tuple(fc.integer({ min: -5, max: 40 }), fc.integer({ min: -5, max: 40 }))
  fc.assert(
    fc.property(fc.string(), fc.array(mark), (text, marks) => {
      const parts = markedParts({ text, marks })
      expect(parts.map((part) => part.text).join('')).toBe(text)
    }),
  )
})
