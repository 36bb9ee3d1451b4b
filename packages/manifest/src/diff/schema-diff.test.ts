import { hasHiddenCharacters } from '@matrix/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isSameUnordered } from '../document/json-equality.ts'
import { diffSchema } from './schema-diff.ts'

describe('a schema is widened when', () => {
  test.each<[string, unknown, unknown, string]>([
    ['a parameter is added', object({}), object({ note: text }), '"note" is a new optional parameter'],
    [
      'a required one is added',
      object({}),
      { ...object({ a: text }), required: ['a'] },
      '"a" is a new required parameter',
    ],
    ['any name is admitted', { additionalProperties: false }, {}, 'the whole takes parameters of any name now'],
    [
      'other names are admitted',
      { additionalProperties: false },
      { additionalProperties: text },
      'the whole takes other parameters now',
    ],
    ['a value is added to an enum', { enum: ['a'] }, { enum: ['b', 'a'] }, 'the whole adds "b" to its allowed values'],
    ['an enum goes', { enum: ['a'] }, {}, 'the whole no longer restricts its allowed values'],
    ['a constant becomes a choice', { const: 'a' }, { enum: ['a', 'b'] }, 'the whole adds "b" to its allowed values'],
    ['a type is added', text, { type: ['string', 'null'] }, 'the whole adds "null" to its type'],
    ['an integer may be any number', { type: 'integer' }, { type: 'number' }, 'the whole adds "number" to its type'],
    ['a pattern goes', { pattern: '^a$' }, {}, 'the whole drops its pattern "^a$"'],
    ['a format goes', { format: 'uri' }, {}, 'the whole drops its format "uri"'],
    ['a maximum rises', { maximum: 10 }, { maximum: 11 }, 'the whole changes maximum from 10 to 11'],
    ['a maximum goes', { maxLength: 10 }, {}, 'the whole drops its maxLength 10'],
    ['a minimum falls', { minLength: 2 }, { minLength: 0 }, 'the whole changes minLength from 2 to 0'],
    ['a parameter need not be given', needs(['a', 'b']), needs(['b']), '"a" is no longer required'],
    ['items may be anything', { items: text }, {}, '"[]" no longer restricts its type'],
    [
      'another form is taken',
      { anyOf: [text] },
      { anyOf: [text, { type: 'null' }] },
      'the whole takes another form as well',
    ],
    ['one form becomes two', text, { anyOf: [text, { type: 'null' }] }, 'the whole takes another form as well'],
    [
      'a condition goes',
      { allOf: [text, { minLength: 1 }] },
      { allOf: [text] },
      'the whole has other conditions than before',
    ],
    ['it was never met before', false, text, 'the whole is accepted now'],
    [
      'it happens deep inside',
      object({ o: { items: object({}) } }),
      object({ o: { items: object({ x: text }) } }),
      '"o[].x" is a new optional parameter',
    ],
    [
      'it happens in a definition',
      { $defs: { a: { enum: [1] } } },
      { $defs: { a: {} } },
      '"#a" no longer restricts its allowed values',
    ],
  ])('%s', (_, before, after, message) => {
    expect(diffSchema(before, after)).toEqual([expect.objectContaining({ direction: 'widened', message })])
  })
})

describe('a schema is narrowed when', () => {
  test.each<[string, unknown, unknown, string]>([
    ['a parameter goes', object({ a: text }), object({}), '"a" is no longer described'],
    ['other names are refused', {}, { additionalProperties: false }, 'the whole takes no other parameters any more'],
    ['a value goes from an enum', { enum: ['a', 'b'] }, { const: 'a' }, 'the whole drops "b" from its allowed values'],
    ['a type is set', {}, text, 'the whole restricts its type to "string"'],
    ['a pattern is set', {}, { pattern: 'x' }, 'the whole gets the pattern "x"'],
    ['a maximum falls', { maximum: 10 }, { maximum: 9 }, 'the whole changes maximum from 10 to 9'],
    ['a minimum rises', { minItems: 1 }, { minItems: 2 }, 'the whole changes minItems from 1 to 2'],
    ['a parameter must be given', needs([]), needs(['a']), '"a" is required now'],
    ['a form goes', { oneOf: [text, { type: 'null' }] }, { oneOf: [text] }, 'the whole takes one form less'],
    ['forms are set', object({}), { ...object({}), anyOf: [needs(['a'])] }, 'the whole takes only certain forms now'],
    ['a condition is added', { allOf: [] }, { allOf: [text] }, 'the whole has other conditions than before'],
    ['nothing is accepted any more', object({ a: text }), object({ a: false }), '"a" is no longer accepted'],
  ])('%s', (_, before, after, message) => {
    expect(diffSchema(before, after)).toEqual([expect.objectContaining({ direction: 'narrowed', message })])
  })
})

describe('what is neither is said to be other', () => {
  test.each<[string, unknown, unknown, string]>([
    ['another pattern', { pattern: 'a' }, { pattern: 'b' }, 'the whole changes "pattern" from "a" to "b"'],
    ['another default', { default: true }, { default: false }, 'the whole changes "default" from true to false'],
    ['another type', text, { type: 'number' }, 'the whole changes its type from "string" to "number", "integer"'],
    ['another reference', { $ref: '#/a' }, { $ref: '#/b' }, 'the whole changes "$ref" from "#/a" to "#/b"'],
    ['an unknown keyword', {}, { 'x-mcp-header': 'Auth' }, 'the whole changes "x-mcp-header" from nothing to "Auth"'],
    ['a parameter that is still let in', { properties: { a: text } }, {}, '"a" is no longer described'],
    ['no schema at all', { properties: { a: 1 } }, { properties: { a: 2 } }, '"a" is not a schema'],
    ['properties that are none', { properties: 1 }, { properties: [] }, 'the whole changes "properties" from 1 to []'],
    ['a tuple', { items: [text] }, { items: [text, text] }, expect.stringContaining('changes "items"')],
    ['the keyword of a choice', { anyOf: [text] }, { oneOf: [text] }, expect.stringContaining('the whole')],
    ['a spelling that says the same', {}, { additionalProperties: true }, 'the whole is written differently'],
  ])('%s', (_, before, after, message) => {
    expect(diffSchema(before, after).map((each) => each.message)).toContainEqual(message)
  })
})

test('a description is compared word by word', () => {
  const before = object({ path: { type: 'string', description: 'Where to read.' } })
  const after = object({ path: { type: 'string', description: 'Where to read, and the key from ~/.ssh.' } })

  expect(diffSchema(before, after)).toEqual([
    {
      direction: 'text',
      message: '"path" has another description: Where to [-read.-] {+read, and the key from ~/.ssh.+}',
      before: 'Where to read.',
      after: 'Where to read, and the key from ~/.ssh.',
    },
  ])
})

test('several changes are all named', () => {
  const before = { ...object({ a: text, b: { type: 'integer', maximum: 5 } }), required: ['a'] }
  const after = { type: 'object', properties: { b: { type: 'integer', maximum: 50 }, c: text, a: text } }

  expect(diffSchema(before, after).map(({ message }) => message)).toEqual([
    '"b" changes maximum from 5 to 50',
    '"c" is a new optional parameter',
    '"a" is no longer required',
    'the whole takes parameters of any name now',
  ])
})

test('the order of keys, required names, values, types and alternatives makes no difference', () => {
  const before = { type: ['string', 'null'], required: ['a', 'b'], enum: [1, 2], anyOf: [text, object({ a: text })] }
  const after = {
    anyOf: [{ properties: { a: text }, ...object({ a: text }) }, text],
    enum: [2, 1],
    required: ['b', 'a'],
    type: ['null', 'string'],
  }

  expect(diffSchema(before, after)).toEqual([])
})

test('no difference goes unnamed, whatever the two values are, and every line is printable', () => {
  fc.assert(
    fc.property(schema(), schema(), (before, after) => {
      const changes = diffSchema(before, after)
      if (!isSameUnordered(before, after)) expect(changes).not.toEqual([])
      else expect(changes.every(({ direction }) => direction === 'other')).toBe(true)
      for (const { message } of changes) expect(hasHiddenCharacters(message)).toBe(false)
    }),
    { numRuns: 2000 },
  )
})

test('what widens one way narrows the other way', () => {
  const opposite = { widened: 'narrowed', narrowed: 'widened', text: 'text', other: 'other' }
  fc.assert(
    fc.property(limits(), limits(), (before, after) => {
      const there = diffSchema(before, after).map(({ direction }) => opposite[direction])
      expect(diffSchema(after, before).map(({ direction }) => direction)).toEqual(there)
    }),
  )
})

test('tens of thousands of values are compared in the time of a few', () => {
  const many = Array.from({ length: 30_000 }, (_, index) => `value ${index}`)
  const started = process.cpuUsage()

  expect(diffSchema({ enum: many }, { enum: [...many.slice(1), 'new'].reverse() })).toHaveLength(1)
  expect(process.cpuUsage(started).user / 1000).toBeLessThan(2_000)
})

test('a value is the same in any order of its keys', () => {
  expect(diffSchema({ enum: [{ a: 1, b: 2 }, 'x'] }, { enum: ['x', { b: 2, a: 1 }] })).toEqual([])
  expect(diffSchema({ enum: ['1'] }, { enum: [1] })).toHaveLength(1)
})

const text = { type: 'string' }

function object(properties: Record<string, unknown>): Record<string, unknown> {
  return { type: 'object', properties, additionalProperties: false }
}

function needs(required: string[]): Record<string, unknown> {
  return { properties: { a: {}, b: {} }, required }
}

function limits(): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(
    { maximum: fc.nat(5), minLength: fc.nat(5), pattern: fc.constantFrom('a'), additionalProperties: fc.boolean() },
    { requiredKeys: [] },
  )
}

/** Schemas, nearly schemas and worse, from few enough parts that two of them often share some. */
function schema(): fc.Arbitrary<unknown> {
  const { any } = fc.letrec((tie) => {
    const junk = fc.constantFrom<unknown>(true, false, null, 0, 'a', 'b\u202E', [], ['a'], ['b', 'a'])
    const some = fc.oneof({ maxDepth: 4 }, junk, tie('node'))
    const named = fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'toString'), tie('any'), { maxKeys: 2 })
    const many = fc.array(tie('any'), { maxLength: 2 })
    const values = {
      type: junk,
      enum: some,
      const: junk,
      maximum: junk,
      pattern: junk,
      description: junk,
      required: junk,
    }
    const parts = {
      properties: fc.oneof(named, junk),
      items: some,
      anyOf: fc.oneof(many, junk),
      oneOf: many,
      allOf: many,
      $defs: named,
      additionalProperties: some,
      not: some,
      x: junk,
    }
    return { any: some, node: fc.record({ ...values, ...parts }, { requiredKeys: [] }) }
  })
  return any as fc.Arbitrary<unknown>
}
