import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_DOCUMENT_BYTES, parseDocument } from './document.ts'

test('JSON is read as it stands, with nothing found', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
      fc.pre(!JSON.stringify(value).includes('"__proto__":'))
      const { value: read, findings } = parse(JSON.stringify(value, null, indent))

      expect(findings).toEqual([])
      expect(read).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('a key that stands twice in one object is found at its second place', () => {
  const { value, findings } = parse('{\n  "a": {"b": 1,\n    "c": "\\"b\\": \\\\",\n    "b": 2},\n  "b": 3\n}')

  expect(findings).toMatchObject([{ rule: 'MX022', line: 4, column: 5, endColumn: 8, pointer: '/a/b' }])
  expect(value).toBeUndefined()
})

test('every way of writing a key twice is found, however it is escaped or spaced', () => {
  for (const text of [
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":1}',
    '{"a" : 1, "a"\n:\t1}',
    '[{"x":{"a":[],"a":[]}}]',
    '{"":1,"":2}',
  ])
    expect(rulesIn(text), text).toEqual(['MX022'])
})

test('an empty file, a byte order mark, bad UTF-8 and syntax errors are one finding each, at their place', () => {
  expect(parse('').findings).toMatchObject([{ rule: 'MX001', message: 'The file is empty.', line: 1 }])
  expect(parse(' \n ').findings).toMatchObject([{ message: 'The file is empty.' }])
  expect(parse('\uFEFF{}').findings).toMatchObject([{ message: 'The file starts with a byte order mark.' }])
  expect(parse('{\n  "a": 1,\n}').findings).toMatchObject([{ rule: 'MX001', line: 3, column: 1 }])
  expect(parse('{\n  "a": 1\n  "b": 2\n}').findings).toMatchObject([
    { message: 'A comma is expected here.', line: 3, column: 3 },
  ])
  expect(parse('{"a": 1} x').findings[0]).toMatchObject({ column: 10 })
  expect(parse('{"a": "x').findings[0]).toMatchObject({ message: 'The string is not closed; a " is missing.' })
  expect(parse('// note\n{}').findings[0]).toMatchObject({ message: 'Comments are not allowed in JSON.' })
})

test('the first byte that is not UTF-8 is named with its line, also after a real replacement character', () => {
  const bytes = Buffer.concat([Buffer.from('{\n  "ä": "\uFFFD'), Buffer.from([0xff]), Buffer.from('"}')])

  expect(parseDocument(bytes).findings).toMatchObject([
    { message: 'Byte 14 of the file is not valid UTF-8.', line: 2, column: 10 },
  ])
})

test('a file of 50 MB is refused by its size', () => {
  const { findings } = parseDocument(Buffer.alloc(50 * 1024 * 1024, 32))

  expect(findings[0]?.message).toBe(`The file has 52428800 bytes; a manifest has at most ${MAX_DOCUMENT_BYTES}.`)
})

test('nesting beyond any use is refused, however it is spelled, without running out of stack', () => {
  const deep = 100_000
  for (const text of [
    '['.repeat(deep) + ']'.repeat(deep),
    '['.repeat(deep),
    '{"a":'.repeat(deep) + 1 + '}'.repeat(deep),
  ])
    for (const relaxed of [false, true])
      expect(parseDocument(Buffer.from(text), { relaxed }).findings[0]?.message).toBe(
        'The document is nested more than 64 levels deep.',
      )
})

test('a "__proto__" key is refused at any depth and changes no prototype', () => {
  for (const text of [
    '{"__proto__": {"polluted": 1}}',
    '{"a": [{"__proto__": {"polluted": 1}}]}',
    '{"__pr\\u006fto__": {"polluted": 1}}',
  ])
    for (const relaxed of [false, true]) {
      const { value, findings } = parseDocument(Buffer.from(text), { relaxed })

      expect(findings).toMatchObject([
        { rule: 'MX001', message: 'The key "__proto__" is not allowed anywhere in a document.' },
      ])
      expect(value).toBeUndefined()
    }
  expect(({} as { polluted?: number }).polluted).toBeUndefined()
})

test('comments, trailing commas and a byte order mark pass only where other programs’ files are read', () => {
  const text = '\uFEFF{\n  // where\n  "a": [1, 2,],\n}'

  expect(parseDocument(Buffer.from(text), { relaxed: true })).toMatchObject({ value: { a: [1, 2] }, findings: [] })
  expect(parse(text.slice(1)).findings.length).toBeGreaterThan(0)
})

test('quotes in a comment hide neither a key that stands twice nor nesting beyond any use', () => {
  const deep = `// "\n${'['.repeat(100_000)}${']'.repeat(100_000)} // "`

  expect(parseDocument(Buffer.from('{"a":1,"a":2,\n// "\n"b":3 // "\n}'), { relaxed: true }).findings).toMatchObject([
    { rule: 'MX022', line: 1, column: 8 },
  ])
  for (const relaxed of [false, true])
    expect(parseDocument(Buffer.from(deep), { relaxed }).findings).toMatchObject([
      { message: 'The document is nested more than 64 levels deep.' },
    ])
})

test('no bytes at all make it throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, relaxed) => {
      const { value, findings } = parseDocument(bytes, { relaxed })
      expect(value !== undefined || findings.length > 0).toBe(true)
    }),
  )
})

function parse(text: string) {
  return parseDocument(Buffer.from(text))
}

function rulesIn(text: string): string[] {
  return parse(text).findings.map(({ rule }) => rule)
}
