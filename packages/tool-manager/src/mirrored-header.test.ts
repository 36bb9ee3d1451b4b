import { expect, test } from 'vitest'
import { findHeaderFault } from './mirrored-header.ts'

const header = (name: unknown, type: unknown = 'string') => ({ type, 'x-mcp-header': name })
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })

test.each([
  ['nothing asked for', object({ a: { type: 'string' } })],
  ['strings, integers and booleans', object({ a: header('A'), b: header('B', 'integer'), c: header('C', 'boolean') })],
  ['an argument inside another', object({ a: object({ b: header('B') }) })],
  ['an argument that has the name of the annotation', object({ 'x-mcp-header': { type: 'string' } })],
  ['the annotation as a value', object({ a: { type: 'object', default: header('A') } })],
  ['properties that are none', { type: 'object', properties: null }],
])('%s is fine', (_, schema) => {
  expect(findHeaderFault(schema)).toBeUndefined()
})

test.each([
  ['no name', object({ a: header('') }), /no name of a header/],
  ['a name that is no text', object({ a: header(1) }), /no name of a header/],
  ['a line break in a name', object({ a: header('A\r\nB') }), /no name of a header/],
  ['a number', object({ a: header('A', 'number') }), /strings, integers and booleans/],
  ['an object', object({ a: header('A', 'object') }), /strings, integers and booleans/],
  ['several types', object({ a: header('A', ['string', 'null']) }), /strings, integers and booleans/],
  ['two that differ only in case', object({ a: header('Region'), b: header('REGION') }), /the name "REGION"/],
  ['one below a list', object({ a: { type: 'array', items: header('A') } }), /named arguments only/],
  ['one below a choice', object({}, { anyOf: [object({ a: header('A') })] }), /named arguments only/],
  ['one at the top', header('A', 'object'), /named arguments only/],
])('%s is a fault', (_, schema, words) => {
  expect(findHeaderFault(schema)).toMatch(words)
})
