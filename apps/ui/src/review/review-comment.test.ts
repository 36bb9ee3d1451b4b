import { expect, test } from 'vitest'
import type { DiffLine } from './diff-line.ts'
import {
  extendAnchor,
  formatConflictRequest,
  formatReview,
  isWithin,
  quoteLines,
  type ReviewComment,
} from './review-comment.ts'

test('a second click widens the selection in either direction', () => {
  const first = extendAnchor(undefined, 'a.ts', added(12))
  const wider = extendAnchor(first, 'a.ts', added(9))

  expect(wider).toEqual({ path: 'a.ts', side: 'new', from: 9, to: 12 })
  expect(isWithin(wider, 'a.ts', added(10))).toBe(true)
  expect(isWithin(wider, 'b.ts', added(10))).toBe(false)
  expect(isWithin(wider, 'a.ts', removed(10))).toBe(false)
})

test('a click in another file, or on the other side, starts anew', () => {
  const anchor = extendAnchor(undefined, 'a.ts', added(12))

  expect(extendAnchor(anchor, 'b.ts', added(3))).toEqual({ path: 'b.ts', side: 'new', from: 3, to: 3 })
  expect(extendAnchor(anchor, 'a.ts', removed(3))).toEqual({ path: 'a.ts', side: 'old', from: 3, to: 3 })
})

test('a comment quotes the lines it is about', () => {
  const hunk = { oldStart: 1, oldLines: 3, newStart: 1, newLines: 3, heading: '', lines: [' a', '-b', '+B', ' c'] }

  expect(quoteLines({ path: 'a.ts', side: 'new', from: 2, to: 3 }, [hunk])).toEqual(['+B', ' c'])
  expect(quoteLines({ path: 'a.ts', side: 'old', from: 2, to: 2 }, [hunk])).toEqual(['-b'])
})

test('all comments become one message, in the order of the files', () => {
  const text = formatReview(
    [
      comment({ id: '2', path: 'b.ts', from: 4, to: 6, text: 'Too clever.', quote: ['+x', '+y', '+z'] }),
      comment({ id: '1', path: 'a.ts', side: 'old', from: 7, to: 7, text: ' Why was this removed?\n', quote: ['-k'] }),
    ],
    { head: '0123456789abcdef', summary: 'Nearly there.' },
  )

  expect(text).toBe(
    [
      'Nearly there.',
      '2 comments on your changes at 0123456789:',
      'a.ts:7 (before the change)\n> -k\n\nWhy was this removed?',
      'b.ts:4-6\n> +x\n> +y\n> +z\n\nToo clever.',
    ].join('\n\n'),
  )
})

test('a long quotation is cut, and says by how much', () => {
  const quote = Array.from({ length: 20 }, (_, index) => `+${index}`)

  expect(formatReview([comment({ quote })], { head: 'abc', summary: '' })).toContain('> +11\n> … 8 more lines\n\nHm.')
})

test('the request to resolve a conflict names the branch and the files', () => {
  expect(formatConflictRequest('main', ['a.ts', 'b.ts'])).toContain('conflicts with main in:\n\n- a.ts\n- b.ts\n')
})

const added = (newLine: number): DiffLine => ({ kind: 'added', text: '', oldLine: undefined, newLine })
const removed = (oldLine: number): DiffLine => ({ kind: 'removed', text: '', oldLine, newLine: undefined })

function comment(given: Partial<ReviewComment>): ReviewComment {
  return { id: '1', path: 'a.ts', side: 'new', from: 1, to: 1, text: 'Hm.', quote: [], ...given }
}
