import { MatrixError } from '@matrix/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatAgentUri, isAgentUri, parseAgentUri } from './agent-uri.ts'

test('an agent URI names an agent, decentralised identifiers included', () => {
  expect(parseAgentUri('matrix://agent/default')).toEqual({ name: 'default' })
  expect(parseAgentUri('matrix://agent/did:pax:0x12ab')).toEqual({ name: 'did:pax:0x12ab' })
})

test('whatever is formatted parses back to the same agent', () => {
  const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/)
  fc.assert(
    fc.property(name, (each) => {
      expect(parseAgentUri(formatAgentUri({ name: each }))).toEqual({ name: each })
    }),
  )
})

test('whatever parses formats back to the same text, and everything else is refused as malformed', () => {
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', '/', '@', ':', '.', '\n', 'é', '\u0000', '\u{1F600}', '\ud800') }),
    fc.string().map((name) => `matrix://agent/${name}`),
  )
  fc.assert(
    fc.property(text, (each) => {
      if (isAgentUri(each)) expect(formatAgentUri(parseAgentUri(each))).toBe(each)
      else expect(() => parseAgentUri(each)).toThrowError(expect.objectContaining({ code: 'URI_MALFORMED' }))
    }),
  )
})

test.each([
  '',
  'default',
  'matrix://agent/',
  'matrix://agent/-x',
  'matrix://agent/a/b',
  'matrix://agent/a b',
  'matrix://agent/a\n',
  `matrix://agent/${'a'.repeat(129)}`,
  'matrix://tool/mcp/fs/read_file@1.2.3',
])('%j is not an agent URI', (text) => {
  expect(isAgentUri(text)).toBe(false)
  expect(() => parseAgentUri(text)).toThrowError(MatrixError)
})
