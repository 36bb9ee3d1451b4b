import type { FileChange } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { type ReviewState, startsOpen, toReviewItems } from './review-items.ts'

const hunks = [
  { oldStart: 1, oldLines: 2, newStart: 1, newLines: 2, heading: 'function a()', lines: [' a', '-b', '+B', ' c'] },
]

test('an open file shows its hunks, a closed one only its name', () => {
  expect(kinds([file()])).toEqual(['file', 'hunk', 'line', 'line', 'line', 'line'])
  expect(kinds([file()], { isOpen: () => false })).toEqual(['file'])
})

test('side by side, a changed line takes one row', () => {
  expect(kinds([file()], { layout: 'split' })).toEqual(['file', 'hunk', 'pair', 'pair', 'pair'])
})

test('a comment stands under the last line it is about, in both layouts', () => {
  const comments = [{ id: '1', path: 'a.ts', side: 'new' as const, from: 1, to: 2, text: 'Hm.', quote: [] }]

  expect(kinds([file()], { comments })).toEqual(['file', 'hunk', 'line', 'line', 'line', 'comment', 'line'])
  expect(kinds([file()], { comments, layout: 'split' })).toEqual(['file', 'hunk', 'pair', 'pair', 'comment', 'pair'])
})

test('the comment being written stands where it will be', () => {
  const editing = { path: 'a.ts', side: 'old' as const, from: 2, to: 2 }

  expect(kinds([file()], { editing })).toEqual(['file', 'hunk', 'line', 'line', 'editor', 'line', 'line'])
})

test('what has no lines says why', () => {
  const notices = toReviewItems(
    [file(), file({ isBinary: true }), file({ isSubmodule: true }), file()],
    state({ hunksOf: (change) => (change.isBinary ? [] : undefined) }),
  ).flatMap((item) => (item.kind === 'notice' ? [item.notice] : []))

  expect(notices).toEqual(['loading', 'binary', 'submodule', 'loading'])
})

test('long, deleted and generated files wait to be opened', () => {
  expect(startsOpen(file({ additions: 20 }))).toBe(true)
  expect(startsOpen(file({ additions: 5000 }))).toBe(false)
  expect(startsOpen(file({ status: 'deleted' }))).toBe(false)
  expect(startsOpen(file({ path: 'pnpm-lock.yaml' }))).toBe(false)
})

test('a diff of 100,000 lines is laid out once, not again for every letter of a comment', () => {
  const lines = Array.from({ length: 100_000 }, (_, index) => `${' -+'[index % 3]}line ${index}`)
  const huge = [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, heading: '', lines }]
  const first = toReviewItems([file()], state({ hunksOf: () => huge }))
  const again = toReviewItems([file()], state({ hunksOf: () => huge }))

  expect(first).toHaveLength(100_002)
  expect(again.slice(1).every((item, index) => item === first[index + 1])).toBe(true)
})

function file(given: Partial<FileChange> = {}): FileChange {
  const plain = { path: 'a.ts', status: 'modified' as const, additions: 1, deletions: 1 }
  return { ...plain, isBinary: false, isSubmodule: false, ...given }
}

function state(given: Partial<ReviewState> = {}): ReviewState {
  return {
    layout: 'unified',
    isOpen: () => true,
    hunksOf: () => hunks,
    comments: [],
    editing: undefined,
    ...given,
  }
}

function kinds(files: FileChange[], given: Partial<ReviewState> = {}): string[] {
  return toReviewItems(files, state(given)).map(({ kind }) => kind)
}
