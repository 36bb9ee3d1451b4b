import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openLineWindow } from './line-window.ts'

const wide = { maxLineLength: 1000, maxLength: 100_000 }

test('the same lines are kept whatever the pieces in which the text comes', () => {
  const text = fc.array(fc.constantFrom('a', 'b', '\n', 'ä'), { maxLength: 60 }).map((parts) => parts.join(''))
  const property = fc.property(text, fc.nat(8), fc.nat(8), fc.nat(60), (whole, first, count, cut) => {
    const options = { ...wide, first: first + 1, count: count + 1 }
    expect(readIn(options, [whole.slice(0, cut), whole.slice(cut)])).toBe(readIn(options, [whole]))
    expect(readIn(options, [whole])).toBe(expected(whole, first, count + 1))
  })
  fc.assert(property)
})

test('a long line is cut, and the one behind it is whole', () => {
  const lines = openLineWindow({ first: 1, count: 10, maxLineLength: 5, maxLength: 1000 })
  lines.add('1234567')
  lines.add('89\nnext')
  lines.finish()

  expect(lines.text()).toBe('     1\t12345…\n     2\tnext')
  expect(lines.hasCutLines()).toBe(true)
})

test('no more is kept than may be shown', () => {
  const lines = openLineWindow({ first: 1, count: 1_000_000, maxLineLength: 2000, maxLength: 1000 })
  for (let index = 0; index < 10_000; index += 1) lines.add('some text\n')

  expect(lines.text().length).toBeLessThan(1100)
  expect(lines.hasRest()).toBe(true)
})

function readIn(options: Parameters<typeof openLineWindow>[0], parts: string[]): string {
  const lines = openLineWindow(options)
  for (const part of parts) lines.add(part)
  if (!lines.isFull()) lines.finish()
  return lines.text()
}

/** The plain way, which needs the whole text at once. */
function expected(whole: string, skipped: number, count: number): string {
  const lines = whole.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
    .map((line, index) => `${String(index + 1).padStart(6)}\t${line}`)
    .slice(skipped, skipped + count)
    .join('\n')
}
