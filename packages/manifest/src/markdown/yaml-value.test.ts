import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { readYaml } from './yaml-value.ts'

test('fields, lists and nested values are read, each with its place', () => {
  const text = 'name: x\ntools: [Read, "Bash(git:*)"]\nmcpServers:\n  git:\n    args:\n      - a\n'
  const { value, spans, problems } = readYaml(text, 4)

  expect(problems).toEqual([])
  expect(value).toEqual({ name: 'x', tools: ['Read', 'Bash(git:*)'], mcpServers: { git: { args: ['a'] } } })
  const { value: place } = spans.get('/mcpServers/git/args/0') ?? {}
  expect(place && text.slice(place.offset - 4, place.offset - 4 + place.length)).toBe('a')
})

test.each([
  ['an alias', 'a: &x [1]\nb: *x\n', 'MX001', 'An alias'],
  ['a cycle', 'a: &x [*x]\n', 'MX001', 'An alias'],
  ['a duplicate key', 'a: 1\nb: 2\na: 3\n', 'MX022', '"a" stands twice'],
  ['a tag of its own', 'a: !!js/function x\n', 'MX001', 'tag'],
  ['a key that is no text', '? {a: 1}\n: b\n', 'MX001', 'A key must be a text'],
  ['__proto__', 'a: {__proto__: 1}\n', 'MX001', '__proto__'],
  ['a tab as indentation', 'a:\n\t- b\n', 'MX001', 'Tabs'],
  ['an open quote', 'a: "b\n', 'MX001', 'Missing closing'],
  ['a deep flow', `a: ${'['.repeat(30_000)}`, 'MX001', 'nested'],
  ['a deep list on one line', '- '.repeat(30_000), 'MX001', 'nested'],
  ['a deep mapping', Array.from({ length: 200 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'), 'MX001', 'nested'],
  ['deep explicit keys', '? '.repeat(20_000), 'MX001', 'nested'],
])('%s is a problem with a place, and gives no value', (_, text, rule, message) => {
  const { value, problems } = readYaml(text)
  expect(value).toBeUndefined()
  expect(problems[0]).toMatchObject({ rule, message: expect.stringContaining(message) })
})

test('a bomb of aliases costs nothing', () => {
  const levels = Array.from(
    { length: 30 },
    (_, i) =>
      `a${i}: &a${i} [${Array(9)
        .fill(i ? `*a${i - 1}` : 'x')
        .join()}]`,
  )
  const start = performance.now()
  expect(readYaml(levels.join('\n')).value).toBeUndefined()
  expect(performance.now() - start).toBeLessThan(1000)
})

test('no text makes it throw, and every place lies inside of the text', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'a:',
      ' ',
      '\n',
      '- ',
      '? ',
      ': ',
      '[',
      ']',
      '{',
      '}',
      '&x',
      '*x',
      '!!str',
      '"',
      "'",
      '|',
      '>',
      '#',
      '\t',
      '---',
      '%',
    ),
    fc.string({ maxLength: 5 }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const text = pieces.join('')
      const { problems, spans } = readYaml(text)
      for (const { offset, length } of [...problems, ...[...spans.values()].map(({ value }) => value)]) {
        expect(offset).toBeGreaterThanOrEqual(0)
        expect(offset + length).toBeLessThanOrEqual(text.length + 1)
      }
    }),
  )
})

test('plain data survives being written as YAML flow', () => {
  const text = fc.string().filter((each) => each !== '__proto__')
  const data = fc.dictionary(
    text,
    fc.oneof(text, fc.integer(), fc.boolean(), fc.array(text), fc.dictionary(text, text)),
    { noNullPrototype: true },
  )
  fc.assert(
    fc.property(data, (given) => {
      expect(readYaml(JSON.stringify(given)).value).toEqual(given)
    }),
  )
})
