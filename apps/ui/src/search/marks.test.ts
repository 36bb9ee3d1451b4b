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

test('tools and ends of tasks are named as people name them, except where something was found', () => {
  const words = (text: string, marks: [number, number][] = []) =>
    markedParts({ text, marks })
      .map((part) => part.text)
      .join('')

  expect(words('mcp__mxd__commit message')).toBe('commit message')
  expect(words('done_passed All is in.')).toBe('passed: All is in.')
  expect(words('mcp__mxd__commit', [[0, 16]])).toBe('mcp__mxd__commit')
})
