import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_DEPTH } from './document.ts'
import { MAX_TOML_BYTES, parseToml } from './toml-document.ts'

const text = [
  'model = "gpt-5"',
  '[mcp_servers.docs]',
  'command = "npx"',
  'args = ["-y", "docs@1.0.0"]',
  'env = { "API_KEY" = "x" }',
  '[mcp_servers."with space".env]',
  'A.B = 1979-05-27',
  '[[profiles]]',
  'limit = inf',
].join('\n')

test('TOML is read as the values that JSON has', () => {
  const { value, findings } = parse(text)

  expect(findings).toEqual([])
  expect(value).toEqual({
    model: 'gpt-5',
    mcp_servers: {
      docs: { command: 'npx', args: ['-y', 'docs@1.0.0'], env: { API_KEY: 'x' } },
      'with space': { env: { A: { B: '1979-05-27' } } },
    },
    profiles: [{ limit: 'inf' }],
  })
})

test('each value of TOML is found at its line and column', () => {
  const { source } = parse(text)
  const at = (...path: (string | number)[]) => {
    const { line, column, endColumn } = source.locate(path)
    return [line, column, endColumn]
  }

  expect(at('model')).toEqual([1, 9, 16])
  expect(at('mcp_servers', 'docs')).toEqual([2, 14, 18])
  expect(at('mcp_servers', 'docs', 'args', 1)).toEqual([4, 15, 27])
  expect(at('mcp_servers', 'docs', 'env', 'API_KEY')).toEqual([5, 21, 24])
  expect(source.locate(['mcp_servers', 'docs', 'env', 'API_KEY'], 'key')).toMatchObject({ line: 5, column: 9 })
  expect(at('mcp_servers', 'with space', 'env', 'A', 'B')).toEqual([7, 7, 17])
  expect(at('profiles', 0, 'limit')).toEqual([9, 9, 12])
  expect(at('mcp_servers', 'docs', 'url')).toEqual([2, 14, 18])
})

test('what is wrong with TOML is found at its place, and named in the words of TOML', () => {
  expect(parse('a = 1\nb = \n').findings).toMatchObject([
    { rule: 'MX001', line: 2, fix: 'Correct the TOML at this place.' },
  ])
  expect(parse('[a]\nb = 1\n[a]\n').findings).toMatchObject([{ rule: 'MX022', line: 3 }])
  expect(parse('a = 1\na = 2\n').findings).toMatchObject([{ rule: 'MX022', line: 2, column: 1 }])
  expect(parse('').findings).toMatchObject([{ message: 'The file is empty.' }])
  expect(parseToml(Buffer.from([0x61, 0xff])).findings[0]?.message).toContain('not valid UTF-8')
  expect(parseToml(Buffer.alloc(50 << 20, 32)).findings[0]?.message).toContain(`at most ${MAX_TOML_BYTES}`)
  expect(parse('\uFEFFa = 1').value).toEqual({ a: 1 })
})

test('a key that would change every object of the program is refused', () => {
  for (const bad of ['[__proto__]\nx = 1', '__proto__.x = 1', 'a = { "__proto__" = 1 }', '[[a.__proto__]]\nx = 1']) {
    const { value, findings } = parse(bad)
    expect(value, bad).toBeUndefined()
    expect(findings[0]?.message, bad).toContain('"__proto__"')
  }
  expect(({} as { x?: number }).x).toBeUndefined()
})

test('TOML that is nested without end is refused, however it is written', () => {
  const many = 5_000
  const bad = [
    `a = ${'['.repeat(many)}${']'.repeat(many)}`,
    `a = ${'{ a = '.repeat(many)}1${' }'.repeat(many)}`,
    `[a${'.a'.repeat(many)}]`,
    `a${'.a'.repeat(many)} = 1`,
    `[a${'.a'.repeat(MAX_DEPTH - 2)}]\nb${'.b'.repeat(MAX_DEPTH - 2)} = 1`,
    `a = "${'x'.repeat(MAX_TOML_BYTES - 10)}`,
  ]
  for (const each of bad) expect(parse(each).findings, each.slice(0, 20)).toMatchObject([{ rule: 'MX001' }])
})

test('no text makes it throw, and what it reads is found in its own text', () => {
  const word = fc.constantFrom(
    'a',
    '"b c"',
    "'x'",
    '__proto__',
    '[',
    ']',
    '[[',
    ']]',
    '=',
    '.',
    '{',
    '}',
    ',',
    '1',
    '"v"',
    '\n',
    '#',
    '"""',
    'true',
    '1979-05-27',
    '\r\n',
    ' ',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(word, { maxLength: 40 }).map((words) => words.join('')),
      ),
      (input) => {
        const { value, source, findings } = parse(input)
        expect(value === undefined).toBe(findings.length > 0)
        for (const path of pathsOf(value))
          expect(source.locate(path).line).toBeLessThanOrEqual(input.split('\n').length)
      },
    ),
  )
})

function parse(input: string) {
  return parseToml(Buffer.from(input))
}

function pathsOf(value: unknown): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [[]]
  const keys: (string | number)[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  return keys.flatMap((key) => pathsOf((value as Record<string | number, unknown>)[key]).map((rest) => [key, ...rest]))
}
