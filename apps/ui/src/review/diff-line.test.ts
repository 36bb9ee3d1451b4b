import { expect, test } from 'vitest'
import { type Hunk, numberLines, pairLines } from './diff-line.ts'

test('every line carries its number before and after', () => {
  const lines = numberLines(hunk(10, 12, [' a', '-b', '+c', '+d', ' e', '\\ No newline at end of file']))

  expect(lines.map(({ kind, oldLine, newLine }) => [kind, oldLine, newLine])).toEqual([
    ['context', 10, 12],
    ['removed', 11, undefined],
    ['added', undefined, 13],
    ['added', undefined, 14],
    ['context', 12, 15],
    ['note', undefined, undefined],
  ])
})

test('side by side, what was removed stands next to what took its place', () => {
  const rows = pairLines(numberLines(hunk(1, 1, [' a', '-b', '-c', '+B', ' d', '+e', '-f', '+F'])))

  expect(rows.map(({ left, right }) => [left?.text, right?.text])).toEqual([
    ['a', 'a'],
    ['b', 'B'],
    ['c', undefined],
    ['d', 'd'],
    [undefined, 'e'],
    ['f', 'F'],
  ])
})

function hunk(oldStart: number, newStart: number, lines: string[]): Hunk {
  return { oldStart, oldLines: 0, newStart, newLines: 0, heading: '', lines }
}
