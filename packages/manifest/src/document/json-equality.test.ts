import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalForm } from '../manifest/digest.ts'
import { isSameJson, isSameUnordered } from './json-equality.ts'

const json = fc.jsonValue({ maxDepth: 3 })

test('two values are the same exactly when their canonical forms are', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      expect(isSameJson(a, b)).toBe(canonicalForm(a) === canonicalForm(b))
      expect(isSameJson(a, JSON.parse(canonicalForm(a)))).toBe(true)
    }),
  )
})

test('one missing, added or changed part at any depth makes a difference', () => {
  const value = { a: [1, { b: 'x', c: null }] }
  const others = [
    { a: [1, { b: 'x' }] },
    { a: [1, { b: 'x', c: null, d: 1 }] },
    { a: [1, { b: 'y', c: null }] },
    { a: [{ b: 'x', c: null }, 1] },
    { a: { 0: 1, 1: { b: 'x', c: null } } },
    { a: [1, { b: 'x', toString: null }] },
    { a: [1, { b: 'x', c: {} }] },
  ]
  for (const other of others) {
    expect(isSameJson(value, other)).toBe(false)
    expect(isSameJson(other, value)).toBe(false)
  }
})

test('a key without a value is no key', () => {
  expect(isSameJson({ a: 1, b: undefined }, { a: 1 })).toBe(true)
  expect(isSameJson({ a: 1 }, { a: 1, b: undefined })).toBe(true)
  expect(isSameJson({ a: 1, b: undefined }, { a: 1, b: null })).toBe(false)
})

test('as sets, lists are the same in any order and with anything repeated, at every depth', () => {
  const value = { a: [1, null, { b: ['x', 'y'] }], c: null }
  expect(isSameUnordered(value, { c: null, a: [{ b: ['y', 'x', 'y'] }, 1, null] })).toBe(true)
  expect(isSameUnordered(value, { c: null, a: [{ b: ['y', 'z'] }, 1, null] })).toBe(false)
  expect(isSameUnordered(value, { a: value.a })).toBe(false)
  expect(isSameUnordered('ab', 'ba')).toBe(false)
})
