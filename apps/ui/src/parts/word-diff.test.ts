import { expect, test } from 'vitest'
import { areAlike, diffWords } from './word-diff.ts'

test('what changed between two texts is found word by word', () => {
  expect(diffWords('Reads a file.', 'Reads a file and sends it away.')).toEqual([
    { kind: 'same', text: 'Reads a file' },
    { kind: 'added', text: ' and sends it away' },
    { kind: 'same', text: '.' },
  ])
  expect(diffWords('const a = 1', 'const b = 1')).toEqual([
    { kind: 'same', text: 'const ' },
    { kind: 'removed', text: 'a' },
    { kind: 'added', text: 'b' },
    { kind: 'same', text: ' = 1' },
  ])
})

test('put together, the parts are both texts again', () => {
  const random = (() => {
    let state = 7
    return (below: number) => {
      state = (state * 1103515245 + 12345) % 2147483648
      return state % below
    }
  })()
  for (let round = 0; round < 300; round += 1) {
    const text = () => Array.from({ length: random(12) }, () => ['a', ' ', 'b', '(', 'ä', '\n'][random(6)]).join('')
    const [before, after] = [text(), text()]
    const parts = diffWords(before, after)
    const side = (gone: string) =>
      parts
        .filter(({ kind }) => kind !== gone)
        .map(({ text }) => text)
        .join('')

    expect(side('added')).toBe(before)
    expect(side('removed')).toBe(after)
  }
})

test('texts made to be slow to compare are shown whole, at once', () => {
  const started = process.cpuUsage()
  const parts = diffWords('a b '.repeat(100_000), 'b c '.repeat(100_000))
  diffWords('a b '.repeat(499), 'b c '.repeat(499))

  expect(parts.map(({ kind }) => kind)).toEqual(['removed', 'added'])
  expect(process.cpuUsage(started).user / 1000).toBeLessThan(1000)
})

test('texts with little in common are not alike', () => {
  expect(areAlike(diffWords('return items.length', 'return items.length + 1'))).toBe(true)
  expect(areAlike(diffWords('import os', 'x = compute(everything, twice)'))).toBe(false)
})
