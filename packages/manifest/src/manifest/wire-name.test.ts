import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Manifest, StdioServer } from './manifest.ts'
import { parseToolUri } from './tool-uri.ts'
import { buildWireNames } from './wire-name.ts'

const digest = 'sha256:a239da270c403c42eb03e1ca7cca07c858085819797b74856ddbb91b50491b1a'

/** Their sha256, after `fs/`, begins with the same eight digits. */
const sameShortHash = [`${'a'.repeat(60)}18tk`, `${'a'.repeat(60)}1mpe`] as const

test('a model calls a tool by mcp__, alias and name, and the journal has its URI', () => {
  const names = buildWireNames(manifestOf({ fs: ['read_file'], 'web-search': ['find'] }))

  expect(names.names).toEqual(['mcp__fs__read_file', 'mcp__web-search__find'])
  expect(names.toUri('mcp__fs__read_file')).toEqual({ server: 'fs', tool: 'read_file', pin: '1.2.3' })
  expect(names.toWireName(parseToolUri('matrix://tool/mcp/fs/read_file@1.2.3'))).toBe('mcp__fs__read_file')
})

test('a URI that is pinned by digest names the same tool', () => {
  const names = buildWireNames(manifestOf({ fs: ['read_file'] }))
  expect(names.toWireName(parseToolUri(`matrix://tool/mcp/fs/read_file@${digest}`))).toBe('mcp__fs__read_file')
})

test('what is not declared, or pinned to something else, has no name and no URI', () => {
  const names = buildWireNames(manifestOf({ fs: ['read_file'] }))

  expect(names.toUri('mcp__fs__write_file')).toBeUndefined()
  expect(names.toUri('constructor')).toBeUndefined()
  expect(names.toWireName({ server: 'fs', tool: 'read_file', pin: '1.2.4' })).toBeUndefined()
  expect(names.toWireName({ server: 'fs', tool: 'write_file', pin: '1.2.3' })).toBeUndefined()
})

test('a name that is too long, or has a character that no provider takes, ends in a hash', () => {
  const long = 'a'.repeat(128)
  const { names } = buildWireNames(manifestOf({ fs: [long, 'files.read', 'files_read'] }))

  expect(names[0]).toMatch(/^mcp__fs__a{46}_[0-9a-f]{8}$/)
  expect(names[1]).toMatch(/^mcp__fs__files_read_[0-9a-f]{8}$/)
  expect(names[2]).toBe('mcp__fs__files_read')
})

test('the name of a tool does not depend on what else is declared', () => {
  const alone = buildWireNames(manifestOf({ fs: ['files.read'] })).names
  const among = buildWireNames(manifestOf({ x: ['y'], fs: ['files_read', 'files.read'] })).names
  expect(among).toContain(alone[0])
})

test('a tool cannot take the name that another gets by its hash', () => {
  const [hashed = ''] = buildWireNames(manifestOf({ fs: ['files.read'] })).names
  const { names } = buildWireNames(manifestOf({ fs: ['files.read', hashed.slice('mcp__fs__'.length)] }))
  expect(new Set(names).size).toBe(2)
})

test('two names with one short hash, which a server may have searched for, get longer ones', () => {
  const [one, other] = sameShortHash
  const { names, toUri } = buildWireNames(manifestOf({ fs: [one, other] }))

  expect(names[0]).not.toBe(names[1])
  expect(names.map((name) => toUri(name)?.tool)).toEqual([one, other])
  for (const name of names) expect(name).toMatch(/^mcp__fs__a+_[0-9a-f]{16}$/)
})

test('no two tools ever share a name, and every name leads back to its tool', () => {
  const alias = fc.stringMatching(/^[ab](?:[ab-]|_[ab-]){0,3}_?$/)
  const part = fc.constantFrom('_', '__', '.', 'a', 'b', '-', 'mcp', 'deadbeef', '_00000000', 'x'.repeat(60))
  const tools = fc.uniqueArray(
    fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('').slice(0, 128)),
    { minLength: 1, maxLength: 8 },
  )
  fc.assert(
    fc.property(fc.dictionary(alias, tools, { minKeys: 1, maxKeys: 4 }), (servers) => {
      const { names, toUri, toWireName } = buildWireNames(manifestOf(servers))
      expect(names).toHaveLength(Object.values(servers).flat().length)
      for (const name of names) {
        expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
        const uri = toUri(name)
        expect(uri && toWireName(uri)).toBe(name)
      }
    }),
    { numRuns: 500 },
  )
})

test('a manifest that declares a tool twice has no table', () => {
  const twice = manifestOf({ fs: ['read', 'read'] })
  const manifest = manifestOf({ fs: ['read'] })
  for (const each of [twice, { ...manifest, servers: [...manifest.servers, ...manifest.servers] }])
    expect(() => buildWireNames(each)).toThrowError(expect.objectContaining({ code: 'TOOL_AMBIGUOUS' }))
})

function manifestOf(servers: Record<string, string[]>): Manifest {
  return {
    schema_version: 1,
    agent: 'matrix://agent/a',
    allowed_side_effects: [],
    servers: Object.entries(servers).map(
      ([alias, tools]): StdioServer => ({
        alias,
        transport: 'stdio',
        command: 'x',
        version: '1.2.3',
        package_digest: digest,
        tools: tools.map((name) => ({ name, side_effect_class: 'read' })),
      }),
    ),
  }
}
