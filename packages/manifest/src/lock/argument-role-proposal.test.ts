import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { diffLock } from '../diff/lock-diff.ts'
import type { ArgumentRoles } from '../manifest/argument-role.ts'
import { proposeArgumentRoles } from './argument-role-proposal.ts'
import { createLock } from './lock.ts'

const text = { type: 'string' }
const propose = (inputSchema: Record<string, unknown>) => proposeArgumentRoles({ name: 'x', inputSchema })

test.each<[object, ArgumentRoles]>([
  [{ filePath: text, limit: { type: 'number' } }, { paths: ['filePath'] }],
  [{ where: { ...text, description: 'Absolute path of the folder' } }, { paths: ['where'] }],
  [{ paths: { type: 'array', items: text } }, { paths: ['paths[]'] }],
  [{ edits: { type: 'array', items: { properties: { file: text, text } } } }, { paths: ['edits[].file'] }],
  [{ a: { anyOf: [{ type: 'null' }, { ...text, format: 'uri' }] } }, { hosts: ['a'] }],
  [{ command: text, args: { type: 'array', items: text } }, { commands: ['args', 'command'] }],
  [{ link: { ...text, description: 'URL to fetch' } }, { hosts: ['link'] }],
  [{ file: { enum: ['a', 'b'] }, content: text, query: text }, {}],
  [{}, {}],
])('of %j these have a role: %j', (properties, roles) => {
  expect(propose({ type: 'object', properties })).toEqual(roles)
})

test('references are followed, and one that leads to itself ends', () => {
  const $defs = { node: { properties: { path: text, next: { $ref: '#/$defs/node' } } } }

  expect(propose({ $ref: '#/$defs/node', $defs }).paths).toEqual(expect.arrayContaining(['path', 'next.path']))
})

test('no definition makes it throw', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('properties', 'items', 'type', 'anyOf', '$ref', 'path'), fc.jsonValue()),
      (schema) => {
        expect(propose(schema)).toBeDefined()
      },
    ),
  )
})

test('other roles than those that were locked are a grave change', () => {
  const tools = [{ name: 'open', inputSchema: { type: 'object', properties: { p: text, path: text } } }]
  const lockWith = (roles?: ArgumentRoles) => {
    const tool = { name: 'open', side_effect_class: 'read' as const, ...(roles && { arguments: roles }) }
    const endpoint = 'https://files.example.com/mcp'
    const server = { alias: 'files', transport: 'http' as const, endpoint, version: '1.0.0', tools: [tool] }
    const agent = { schema_version: 1 as const, agent: 'matrix://agent/a', allowed_side_effects: ['read' as const] }
    const source = { format: 'matrix', digest: `sha256:${'0'.repeat(64)}` }
    const servers = { files: { transport: 'http' as const, endpoint, tools } }
    return createLock({ source, manifest: { ...agent, servers: [server] }, servers })
  }

  expect(lockWith().servers.files?.tools.open?.arguments).toEqual({ paths: ['path'] })
  expect(diffLock(lockWith(), lockWith({ paths: ['p'] }))).toContainEqual(
    expect.objectContaining({ danger: 'high', message: expect.stringContaining('paths: path → paths: p') }),
  )
})
