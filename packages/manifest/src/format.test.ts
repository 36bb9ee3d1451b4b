import fc from 'fast-check'
import { expect, test } from 'vitest'
import { detectFormat, type Format } from './format.ts'

test('each format is known by its keys', () => {
  const documents: [Format | undefined, unknown][] = [
    ['matrix', { schema_version: 1, agent: 'matrix://agent/x', allowed_side_effects: [], servers: [] }],
    ['lock', { lock_version: 1, schema_version: 1, servers: [] }],
    ['agent-format', { name: 'x', mcpServers: {}, tools: ['@git'], allowedTools: [] }],
    ['agent-format', { name: 'x', prompt: 'You review code.', tools: ['fs_read'] }],
    ['gpars', { id: 'org:example/agent:x', required_mcp_servers: [] }],
    ['gpars', { id: 'org:example/agent:x', capabilities: [{ id: 'search', description: '' }] }],
    ['mcp-client', { mcpServers: { git: { command: 'git-mcp' } } }],
    ['mcp-client', { mcpServers: {}, model: 'x', budgetUsd: 5 }],
    ['codex', { model: 'gpt-5', mcp_servers: { git: { command: 'git-mcp' } } }],
    ['zed', { theme: 'One', context_servers: { git: { command: 'git-mcp' } } }],
    ['opencode', { mcp: { git: { type: 'local', command: ['git-mcp'] } } }],
    ['opencode', { mcp: { servers: { git: { type: 'remote', url: 'https://a.example' } } } }],
    ['opencode', { $schema: 'https://opencode.ai/config.json', model: 'x' }],
    ['agent-format', { prompt: 'You review.', tools: ['fs_read'] }],
    ['vscode', { servers: { git: { command: 'git-mcp' } }, inputs: [] }],
    ['vscode', { mcp: { servers: {} }, 'editor.fontSize': 12 }],
    ['registry', { name: 'io.github.a/b', description: '', version: '1.0.0', packages: [{}] }],
    ['registry', { name: 'io.github.a/b', version_detail: {}, remotes: [{ transport_type: 'sse' }] }],
    ['registry', { server: { name: 'io.github.a/b', packages: [] }, _meta: {} }],
    ['registry', { servers: [{ server: { name: 'io.github.a/b', remotes: [] } }], metadata: { count: 1 } }],
    ['registry', { $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json' }],
    ['mcpb', { manifest_version: '0.3', name: 'x', server: { type: 'node' } }],
    ['mcpb', { dxt_version: '0.1', name: 'x', server: { type: 'node' } }],
  ]
  for (const [format, document] of documents) expect(detectFormat(document), JSON.stringify(document)).toBe(format)
})

test('a manifest with a missing or misspelled field is still recognised, so that it can be checked', () => {
  expect(detectFormat({ agent: 'matrix://agent/x', servers: [] })).toBe('matrix')
  expect(detectFormat({ schema_version: 1 })).toBe('matrix')
  expect(detectFormat({ mcpServers: [] })).toBe('mcp-client')
  expect(detectFormat({ optional_mcp_servers: {} })).toBe('gpars')
})

test('files of other programs that share a key are not taken for something they are not', () => {
  expect(detectFormat({ manifest_version: 3, name: 'A browser extension', version: '1.0' })).toBeUndefined()
  expect(detectFormat({ packages: ['packages/*'], name: 'a monorepo' })).toBeUndefined()
  expect(detectFormat({ name: 'x', version: '1.0.0', packages: { '': {} } })).toBeUndefined()
  expect(detectFormat({ hooks: { Stop: [] }, tools: ['a'] })).toBeUndefined()
  expect(detectFormat({ a: { command: 'x' } }, 'tasks.json')).toBeUndefined()
  expect(detectFormat({ a: { command: 'x' } }, '.mcp.json')).toBe('mcp-client')
  expect(detectFormat({ mcpServers: {}, tools: { sandbox: true } })).toBe('mcp-client')
  expect(detectFormat({ name: 'x', version: '1.0.0', mcpServers: {} })).toBe('mcp-client')
  expect(detectFormat(JSON.parse('{"__proto__": {"mcpServers": {}}}'))).toBeUndefined()
  expect(detectFormat(Object.create({ mcpServers: {} }))).toBeUndefined()
})

test('every JSON value has a format or none, and never an exception', () => {
  const key = fc.constantFrom(
    'lock_version',
    'servers',
    'server',
    'mcpServers',
    'mcp',
    'packages',
    'tools',
    'name',
    '$schema',
  )
  const document = fc.dictionary(key, fc.oneof(fc.jsonValue(), fc.array(fc.dictionary(key, fc.jsonValue()))))
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), document), (value) => {
      const format = detectFormat(value)
      if (typeof value !== 'object' || value === null || Array.isArray(value)) expect(format).toBeUndefined()
      else if (Object.hasOwn(value, 'lock_version')) expect(format).toBe('lock')
    }),
  )
})
