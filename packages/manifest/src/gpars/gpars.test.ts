import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matchesRequirement } from './gpars.ts'

const server_id = 'registry.openmcp.org/git'

test.each([
  ['>=1.0.0', '1.0.0', true],
  ['>=1.0.0', '0.9.9', false],
  ['^1.2.0 || ~2.1', '2.1.7', true],
  ['^1.2.0 || ~2.1', '2.2.0', false],
  ['1.x', '1.9.0', true],
  ['*', '7.0.0', true],
  ['>=1.0.0', '2.0.0-beta.1', false],
  ['>=2.0.0-beta.0', '2.0.0-beta.1', true],
  ['>=1.0.0', 'latest', false],
  ['not a range', '1.0.0', false],
])('a requirement of %s and version %s: %s', (version, offered, expected) => {
  expect(matchesRequirement({ server_id, version }, { server_id, version: offered })).toBe(expected)
})

test('without a version, an optional server will do in any', () => {
  expect(matchesRequirement({ server_id }, { server_id, version: '0.0.1' })).toBe(true)
  expect(matchesRequirement({ server_id }, { server_id, version: 'latest' })).toBe(false)
})

test('only the server of exactly that identifier is meant', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (asked, offered) => {
      expect(matchesRequirement({ server_id: asked }, { server_id: offered, version: '1.0.0' })).toBe(asked === offered)
    }),
  )
  expect(matchesRequirement({ server_id }, { server_id: `${server_id}hub`, version: '1.0.0' })).toBe(false)
})
