import { expect, test } from 'vitest'
import { parseValue, showValue } from './config-value.ts'

test('of a secret nobody learns more than that there is one', () => {
  expect(showValue({ value: null, isSecret: true, origin: 'global' })).toBe('set')
  expect(showValue({ value: null, isSecret: true, origin: 'default' })).toBe('not set')
})

test('text is shown as it is, everything else as JSON', () => {
  expect(showValue({ value: 'main', isSecret: false, origin: 'repo' })).toBe('main')
  expect(showValue({ value: ['a'], isSecret: false, origin: 'repo' })).toBe('["a"]')
})

test('what is typed becomes a value of the kind that was there', () => {
  expect(parseValue('42', 7)).toEqual({ value: 42 })
  expect(parseValue('42', 'seven')).toEqual({ value: '42' })
  expect(parseValue('["a"]', [])).toEqual({ value: ['a'] })
  expect(parseValue('plain words', null)).toEqual({ value: 'plain words' })
  expect(parseValue('four', 7)).toEqual({ error: 'This has to be JSON, such as 7.' })
})
