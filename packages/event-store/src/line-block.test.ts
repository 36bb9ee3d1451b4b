import fc from 'fast-check'
import { expect, it } from 'vitest'
import { eachLine } from './line-block.ts'

it('hands out every line and where it starts, however long the lines are and whatever they say', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.constantFrom('x'.repeat(70_000), 'ü'.repeat(200_000)),
  )
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 40 }), (texts) => {
      const lines = texts.map((said, seq) => ({ seq, event: { type: 'x', said }, sum: '' }))
      const parts = lines.map((line) => Buffer.from(`${JSON.stringify(line)}\n`))
      const starts = parts.map((_, index) => Buffer.concat(parts.slice(0, index)).byteLength + 7)
      expect(readLines(Buffer.concat(parts), 7)).toEqual(lines.map((line, index) => ({ line, start: starts[index] })))
    }),
    { numRuns: 60 },
  )
})

it.each([
  ['is not JSON', '{"seq":2,"event":{"type'],
  ['would be two with a comma for a newline', '{"seq":2,"event":{}},{"seq":3,"event":{}}'],
  ['has no event', '{"seq":2}'],
  ['is null', 'null'],
])('stops at a line that %s', (_, bad) => {
  const whole = '{"seq":1,"event":{"type":"x"},"sum":""}'
  expect(readLines(Buffer.from(`${whole}\n${bad}\n${whole}\n`)).map(({ line }) => line)).toEqual([JSON.parse(whole)])
})

it('takes two halves of a line for two lines that are none', () => {
  expect(readLines(Buffer.from('{"seq":1,"event":{"a":1\n"b":2}}\n'))).toEqual([])
})

function readLines(bytes: Buffer, offset = 0): { line: object; start: number }[] {
  const found: { line: object; start: number }[] = []
  eachLine({ bytes, start: 0, end: bytes.byteLength, offset }, (line, start) => found.push({ line, start }))
  return found
}
