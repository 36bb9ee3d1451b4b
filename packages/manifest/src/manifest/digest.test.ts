import { createHash } from 'node:crypto'
import { MatrixError } from '@matrix/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalForm, digestBytes, digestValue, isPlaceholderDigest, manifestDigest } from './digest.ts'

test('a digest is sha256 in lower-case hex, of bytes and of text alike', () => {
  const known = 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  expect(digestBytes('abc')).toBe(known)
  expect(digestBytes(new Uint8Array([0x61, 0x62, 0x63]))).toBe(known)
})

test('the content address of a value is the digest of its canonical bytes', () => {
  const bytes = Buffer.from('{"a":"é","b":[1,2]}', 'utf8')
  const expected = `sha256:${createHash('sha256').update(bytes).digest('hex')}`

  expect(digestValue({ b: [1, 2], a: 'é' })).toBe(expected)
})

test('keys are sorted by UTF-16 code units at every level, as RFC 8785 3.2.3 has it', () => {
  const value = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }
  const order = [...canonicalForm({ outer: value }).matchAll(/"([^"]*)"[,}]/g)].map(([, name]) => name)

  expect(order).toEqual([
    'Carriage Return',
    'One',
    'Control',
    'Latin Small Letter O With Diaeresis',
    'Euro Sign',
    'Emoji: Grinning Face',
    'Hebrew Letter Dalet With Dagesh',
  ])
})

test('numbers have their shortest ECMAScript form, as RFC 8785 3.2.2.3 and appendix B have it', () => {
  const samples: [number, string][] = [
    [0, '0'],
    [-0, '0'],
    [5e-324, '5e-324'],
    [-1.7976931348623157e308, '-1.7976931348623157e+308'],
    [9007199254740992, '9007199254740992'],
    [295147905179352830000, '295147905179352830000'],
    [9.999999999999997e22, '9.999999999999997e+22'],
    [1e23, '1e+23'],
    [999999999999999900000, '999999999999999900000'],
    [1e21, '1e+21'],
    [9.999999999999997e-7, '9.999999999999997e-7'],
    [0.000001, '0.000001'],
    [333333333.3333332, '333333333.3333332'],
    [4.5, '4.5'],
    [2e-3, '0.002'],
  ]
  for (const [number, text] of samples) expect(canonicalForm(number)).toBe(text)
})

test('strings escape only what JSON must, as RFC 8785 3.2.2.2 has it', () => {
  expect(canonicalForm('\u20ac$\u000F\nA\'B"\\\\"/')).toBe('"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"')
  expect(canonicalForm('\b\t\f\r\u0000\u007f\u2028')).toBe('"\\b\\t\\f\\r\\u0000\u007f\u2028"')
})

test('neither spacing nor the order of keys changes a digest, and the order of a list does', () => {
  expect(digestValue(JSON.parse('{ "b": [1, 2],\n "a": {"d": 1, "c": 2} }'))).toBe(
    digestValue(JSON.parse('{"a":{"c":2,"d":1},"b":[1,2]}')),
  )
  expect(digestValue([1, 2])).not.toBe(digestValue([2, 1]))
})

test('the canonical form reads back as the same value and is its own canonical form', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'grapheme', maxDepth: 6 }), (value) => {
      const text = canonicalForm(value)
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      expect(canonicalForm(JSON.parse(text))).toBe(text)
    }),
  )
})

test.each([
  ['half a surrogate pair in a value', { a: 'x\ud800' }],
  ['half a surrogate pair in a key', { '\udc00': 1 }],
  ['NaN', [Number.NaN]],
  ['an infinite number', { a: { b: Number.POSITIVE_INFINITY } }],
  ['nothing', undefined],
  ['a function', () => 1],
  ['a big integer', [1n]],
  ['nesting of more than 64 levels', nested(65)],
  ['nesting of 100,000 levels', nested(100_000)],
  ['a circle', circle()],
])('%s has no canonical form and says so', (_, value) => {
  const code = codeOf(() => canonicalForm(value))
  expect(code).toBe('VALUE_NOT_CANONICAL')
  expect(codeOf(() => digestValue(value))).toBe('VALUE_NOT_CANONICAL')
})

test('nesting of 64 levels still has one', () => {
  expect(canonicalForm(nested(64))).toBe('['.repeat(64) + ']'.repeat(64))
})

test('one or two repeated digits are a placeholder, a real digest never is', () => {
  for (const digits of ['0', '1', 'a', '01', 'c4'])
    expect(isPlaceholderDigest(`sha256:${digits.repeat(64 / digits.length)}`)).toBe(true)
  expect(isPlaceholderDigest(digestBytes(''))).toBe(false)
})

test('a manifest is called by its content: an editor hint at the top does not count, one further down does', () => {
  const manifest = { schema_version: 1, agent: 'matrix://agent/a' }
  expect(manifestDigest({ $schema: 'https://example.org/v1.json', ...manifest })).toBe(digestValue(manifest))
  expect(manifestDigest({ ...manifest, servers: [{ $schema: 'x' }] })).not.toBe(
    manifestDigest({ ...manifest, servers: [{}] }),
  )
  expect(manifestDigest([1])).toBe(digestValue([1]))
})

function codeOf(act: () => unknown): string | undefined {
  try {
    act()
  } catch (error) {
    if (error instanceof MatrixError) return error.code
    throw error
  }
  return undefined
}

function nested(levels: number): unknown {
  let value: unknown[] = []
  for (let level = 1; level < levels; level += 1) value = [value]
  return value
}

function circle(): unknown {
  const value: { self?: unknown } = {}
  value.self = value
  return value
}
