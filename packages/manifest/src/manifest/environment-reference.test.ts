import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  findEnvironmentNames,
  findMalformedReference,
  readAssignments,
  resolveEnvironment,
} from './environment-reference.ts'

test('a reference may stand anywhere in a value, and several in one', () => {
  expect(findEnvironmentNames('Bearer $env:TOKEN')).toEqual(['TOKEN'])
  expect(findEnvironmentNames('postgres://$env:USER:$env:PASS@db/$env:_1')).toEqual(['USER', 'PASS', '_1'])
  expect(findEnvironmentNames('env:TOKEN $ENV:TOKEN $env: $env:1')).toEqual([])
})

test('references resolve to their values, which are not read for references again', () => {
  const values: Record<string, string> = { A: '$env:B', B: 'b' }

  expect(resolveEnvironment('$env:A-$env:B', (name) => values[name])).toEqual({ text: '$env:B-b' })
})

test('names without a value are all returned, and nothing is resolved', () => {
  expect(resolveEnvironment('$env:A $env:B $env:C', (name) => (name === 'B' ? '' : undefined))).toEqual({
    missing: ['A', 'C'],
  })
})

test('a text with every name set resolves to exactly what a template would give', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(literal, name, fc.string()), { maxLength: 5 }), literal, (parts, end) => {
      const values = new Map(parts.map(([, each, value]) => [each, value]))
      const text = parts.map(([before, each]) => `${before}$env:${each} `).join('') + end
      const expected = parts.map(([before, each]) => `${before}${values.get(each)} `).join('') + end

      expect(resolveEnvironment(text, (each) => values.get(each))).toEqual({ text: expected })
    }),
  )
})

test('the spelling of other programs is recognised as no reference here', () => {
  for (const text of ['${TOKEN}', '${env:TOKEN}', '${input:api-key}', '${user_config.api_key}'])
    expect(findMalformedReference(`Bearer ${text}`)).toBe(text)
  expect(findMalformedReference('$env: x')).toBe('$env:')
  expect(findMalformedReference('$env:TOKEN, $5 and ${}')).toBeUndefined()
})

test('what stands behind :- is not repeated, since it may be the credential', () => {
  expect(findMalformedReference('${TOKEN:-hunter2}')).toBe('${TOKEN:-…}')
})

test('both spellings of env mean the same, split at the first equals sign', () => {
  const list = readAssignments(['A=1', 'B=x=y', '$env:C', 'D=$env:E'])
  const map = readAssignments({ A: '1', B: 'x=y', C: '$env:C', D: '$env:E' })

  expect(list.map(({ name: each, value }) => [each, value])).toEqual(map.map(({ name: each, value }) => [each, value]))
  expect(list.map(({ step }) => step)).toEqual([0, 1, 2, 3])
  expect(map.map(({ step }) => step)).toEqual(['A', 'B', 'C', 'D'])
  expect(readAssignments(undefined)).toEqual([])
})

test('an entry without an equals sign has no name that could be printed', () => {
  expect(readAssignments(['hunter2'])).toEqual([{ name: '', value: 'hunter2', step: 0 }])
})

const literal = fc.string().filter((text) => !text.includes('$'))
const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/)
