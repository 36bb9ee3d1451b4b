import { MatrixError } from '@matrix/protocol'
import fc from 'fast-check'
import parseVersion from 'semver/functions/parse.js'
import { expect, test } from 'vitest'
import {
  formatToolUri,
  isAlias,
  isExactVersion,
  isPin,
  parseToolUri,
  TOOL_NAME_SHAPE,
  type ToolUri,
} from './tool-uri.ts'

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`

test('a tool URI is taken apart into server, tool and pin', () => {
  expect(parseToolUri('matrix://tool/mcp/fs/read_file@2026.8.31')).toEqual({
    server: 'fs',
    tool: 'read_file',
    pin: '2026.8.31',
  })
  expect(parseToolUri(`matrix://tool/mcp/web-search/find.all@${digest}`).pin).toBe(digest)
})

test('whatever is formatted parses back to the same tool', () => {
  fc.assert(
    fc.property(toolUri(), (uri) => {
      expect(parseToolUri(formatToolUri(uri))).toEqual(uri)
    }),
  )
})

test('whatever parses formats back to the same text, and nothing else fails than with an error of ours', () => {
  fc.assert(
    fc.property(nearlyToolUri(), (text) => {
      const uri = parsedOrCode(text)
      if (typeof uri === 'string') expect(['URI_MALFORMED', 'ErrUnpinnedTool']).toContain(uri)
      else expect(formatToolUri(uri)).toBe(text)
    }),
    { numRuns: 1000 },
  )
})

test.each([
  'matrix://tool/mcp/fs/read_file',
  'matrix://tool/mcp/fs/read_file@',
  'matrix://tool/mcp/fs/read_file@latest',
  'matrix://tool/mcp/fs/read_file@^1.2.3',
  'matrix://tool/mcp/fs/read_file@1.2',
  'matrix://tool/mcp/fs/read_file@v1.2.3',
  'matrix://tool/mcp/fs/read_file@1.2.3@1.2.3',
  'matrix://tool/mcp/fs/read_file@1.2.3+build\n',
  'matrix://tool/mcp/fs/read_file@sha256:abc',
  `matrix://tool/mcp/fs/read_file@${digest.toUpperCase()}`,
])('%j is refused as unpinned', (text) => {
  expect(parsedOrCode(text)).toBe('ErrUnpinnedTool')
})

test.each([
  '',
  'fs/read_file@1.2.3',
  'matrix://tool/mcp/fs@1.2.3',
  'matrix://tool/mcp//read_file@1.2.3',
  'matrix://tool/mcp/fs/@1.2.3',
  'matrix://tool/mcp/FS/read_file@1.2.3',
  'matrix://tool/mcp/a__b/read_file@1.2.3',
  'matrix://tool/mcp/fs/read file@1.2.3',
  'matrix://tool/mcp/fs/read/file@1.2.3',
  'matrix://tool/mcp/../read_file@1.2.3',
  'matrix://tool/argus/read_file@1.2.3',
  'matrix://agent/default',
  ' matrix://tool/mcp/fs/read_file@1.2.3',
])('%j is refused as malformed', (text) => {
  expect(parsedOrCode(text)).toBe('URI_MALFORMED')
})

test('an error about an unpinned URI says what to add', () => {
  expect(() => parseToolUri('matrix://tool/mcp/fs/read_file')).toThrowError(
    expect.objectContaining({ code: 'ErrUnpinnedTool', hint: expect.stringContaining('@<semver>') }),
  )
})

test('a pin is one exact version or one digest, and never a range, a tag or a spelling of either', () => {
  for (const pin of ['1.2.3', '2026.8.31', '0.0.0', '1.0.0-rc.1', '1.0.0+build.5', '1.0.0-rc.1+5', digest])
    expect(isPin(pin), pin).toBe(true)
  for (const text of [
    '',
    '1',
    '1.2',
    '1.x',
    '>=1.2.3',
    '1.2.3 - 2.0.0',
    'v1.2.3',
    '=1.2.3',
    '01.2.3',
    '1.2.3 ',
    '1.2.3-',
  ])
    expect(isPin(text), text).toBe(false)
  for (const text of ['1.2.3+a ', '1.2.3+a\n', '\t1.2.3', '1.2.3+a+b', '1.2.3+'])
    expect(isExactVersion(text), JSON.stringify(text)).toBe(false)
})

test('an alias has at most 32 lower-case characters and no double underscore', () => {
  for (const alias of ['a', '7z', 'web-search', 'a_b', 'a_', 'a'.repeat(32)]) expect(isAlias(alias), alias).toBe(true)
  for (const text of ['', '-a', '_a', 'A', 'a__b', 'a b', 'ä', 'a\n', 'a'.repeat(33)])
    expect(isAlias(text), JSON.stringify(text)).toBe(false)
})

function parsedOrCode(text: string): ToolUri | string {
  try {
    return parseToolUri(text)
  } catch (error) {
    if (error instanceof MatrixError) return error.code
    throw error
  }
}

function toolUri(): fc.Arbitrary<ToolUri> {
  return fc.record({
    server: fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]|_[a-z0-9-]){0,15}$/).filter(isAlias),
    tool: fc.stringMatching(/^[A-Za-z0-9_.-]{1,128}$/).filter((name) => TOOL_NAME_SHAPE.test(name)),
    pin: fc.oneof(fc.stringMatching(/^sha256:[0-9a-f]{64}$/), version()),
  })
}

test('what is one exact version is what Semantic Versioning says it is', () => {
  const almost = fc.stringMatching(/^[0-2]{1,2}\.[0-2]{1,2}\.[0-2]{1,2}([-+][0-2a.+-]{0,6})?$/)

  fc.assert(
    fc.property(almost, (text) => isExactVersion(text) === (parseVersion(text) !== null)),
    { numRuns: 2000 },
  )
})

function version(): fc.Arbitrary<string> {
  const numbers = fc.tuple(fc.nat(), fc.nat(), fc.nat()).map((parts) => parts.join('.'))
  return fc
    .tuple(numbers, fc.constantFrom('', '-rc.1', '-0a', '-alpha-2'), fc.constantFrom('', '+5', '+build.7', '+-'))
    .map((parts) => parts.join(''))
}

/** Good URIs, good URIs with one character put in, changed or lost, and anything at all. */
function nearlyToolUri(): fc.Arbitrary<string> {
  const good = toolUri().map(formatToolUri)
  const bent = fc
    .tuple(good, fc.nat(), fc.constantFrom('', ' ', '\n', '/', '@', '_', '__', '+', 'é', '\u0000'), fc.nat(1))
    .map(([text, at, put, lost]) => text.slice(0, at % text.length) + put + text.slice((at % text.length) + lost))
  return fc.oneof(
    good,
    bent,
    fc.string({ unit: fc.constantFrom('a', '/', '@', ':', '.', '\n', 'é', '\u0000', '\u{1F600}', '\ud800') }),
  )
}
