import { expect, test } from 'vitest'
import { findUndeclared } from './declared-argument.ts'

const text = { type: 'string' }
const closed = { type: 'object', properties: { p: text } }

test.each<[string, unknown, unknown, string[]]>([
  ['a declared argument', closed, { p: 'secret' }, []],
  ['a decoy beside it', closed, { p: 'secret', path: 'ok' }, ['path']],
  ['a nested decoy', { properties: { edit: closed } }, { edit: { p: 'a', path: 'b' } }, ['edit.path']],
  ['a decoy in a list', { properties: { edits: { items: closed } } }, { edits: [{ path: 'b' }] }, ['edits[].path']],
  ['an argument of one of two forms', { anyOf: [closed, { properties: { q: text } }] }, { q: 'a' }, []],
  ['a decoy beside two forms', { anyOf: [closed, { properties: { q: text } }] }, { path: 'a' }, ['path']],
  ['a form that is named elsewhere', { $ref: '#/$defs/a', $defs: { a: closed } }, { p: 'a', path: 'b' }, ['path']],
  ['a name that a pattern declares', { patternProperties: { '^x-': text } }, { 'x-a': 'a', path: 'b' }, ['path']],
  ['a pattern that cannot be read', { patternProperties: { '(': text } }, { path: 'b' }, ['path']],
  ['a map', { properties: { env: { additionalProperties: text } } }, { env: { A: '1' } }, []],
  ['what is said to be open', { ...closed, additionalProperties: true }, { path: 'b' }, []],
  ['what is said to be closed', { ...closed, additionalProperties: false }, { path: 'b' }, ['path']],
  ['an object of which nothing is said', { properties: { meta: { type: 'object' } } }, { meta: { path: 'b' } }, []],
  ['a tool without arguments', { type: 'object', properties: {} }, { path: 'b' }, ['path']],
  [
    'a name that every object has',
    closed,
    JSON.parse('{"constructor":"a","__proto__":"b"}'),
    ['constructor', '__proto__'],
  ],
  ['a definition that contains itself', { $ref: '#' }, { path: { path: 'b' } }, []],
])('%s', (_, schema, input, undeclared) => {
  expect(findUndeclared(schema, input)).toEqual(undeclared)
})
