import { expect, test } from 'vitest'
import type { Manifest, StdioServer } from '../manifest/manifest.ts'
import type { Policy } from '../policy/policy.ts'
import { attenuate, type Grant } from './attenuation.ts'
import { digest, docs, fs, mxd } from './servers.testing.ts'

const manifest: Manifest = {
  schema_version: 1,
  agent: 'matrix://agent/parent',
  allowed_side_effects: ['read', 'write', 'network'],
  servers: [fs, mxd, docs],
  native_tools: [{ namespace: 'argus', name: 'scan', version: '1', digest }],
}
const parent: Grant = { manifest }

test('a child with everything its parent has, in another order and under another name, is allowed', () => {
  const child: Manifest = {
    ...manifest,
    agent: 'matrix://agent/child',
    description: 'Helps.',
    allowed_side_effects: ['network', 'read', 'write'],
    servers: [docs, { ...fs, env: { TOKEN: '$env:T', READ_ONLY: '1' } }, mxd],
  }
  expect(attenuate(parent, { manifest: child })).toEqual({ allowed: true })
})

test.each<[string, Manifest, string, string]>([
  [
    'another effect',
    { ...withFs({}), allowed_side_effects: ['read', 'shell'] },
    'allowed_side_effects.1',
    'The child may "shell", its parent may not.',
  ],
  [
    'another server',
    { ...manifest, servers: [{ ...fs, alias: 'disk' }] },
    'servers.0.alias',
    'The parent has no server "disk".',
  ],
  [
    'another tool',
    withFs({ tools: [...fs.tools, { name: 'rm', side_effect_class: 'write' }] }),
    'servers.0.tools.2.name',
    'The parent has no tool "rm" of "fs".',
  ],
  [
    'another class',
    withFs({ tools: [{ name: 'read', side_effect_class: 'write' }] }),
    'servers.0.tools.0.side_effect_class',
    'The class of "read" is not',
  ],
  [
    'other roles of arguments',
    withFs({ tools: [{ name: 'read', side_effect_class: 'read', arguments: { paths: ['decoy'] } }] }),
    'servers.0.tools.0.arguments',
    'What counts as a path, command or host of "read" is not',
  ],
  [
    'more time',
    withFs({ tools: [{ name: 'write', side_effect_class: 'write' }] }),
    'servers.0.tools.0.timeout_ms',
    'more time than its parent',
  ],
  ['another command', withFs({ command: 'sh' }), 'servers.0.command', 'The command of "fs" is not'],
  [
    'other arguments',
    withFs({ args: ['-y', 'files@1.0.0', '/'] }),
    'servers.0.args',
    'The list of arguments of "fs" is not',
  ],
  ['fewer variables', withFs({ env: ['TOKEN=$env:T'] }), 'servers.0.env', 'The environment of "fs" is not'],
  [
    'another secret',
    withFs({ env: ['READ_ONLY=1', 'TOKEN=$env:ROOT'] }),
    'servers.0.env',
    'The environment of "fs" is not',
  ],
  ['another version', withFs({ version: '1.0.1' }), 'servers.0.version', 'The version of "fs" is not'],
  [
    'another digest',
    withFs({ package_digest: digest.replace('a239', 'a230') }),
    'servers.0.package_digest',
    'The digest of "fs" is not',
  ],
  [
    'another address',
    { ...manifest, servers: [{ ...docs, endpoint: 'https://evil.example/mcp' }] },
    'servers.0.endpoint',
    'The address of "docs" is not',
  ],
  [
    'other headers',
    { ...manifest, servers: [{ ...docs, headers: {} }] },
    'servers.0.headers',
    'What is sent to "docs" is not',
  ],
  [
    'another transport',
    { ...manifest, servers: [{ ...fs, alias: 'docs', version: '2.0.0', tools: docs.tools }] },
    'servers.0.transport',
    'The transport of "docs" is not',
  ],
  [
    'another native tool',
    { ...manifest, native_tools: [{ namespace: 'chain', name: 'pay', version: '1', digest }] },
    'native_tools.0',
    'no native tool chain/pay',
  ],
])('a child with %s is not', (_, child, path, words) => {
  const answer = attenuate(parent, { manifest: child })
  const reasons = answer.allowed ? [] : answer.reasons.map((each) => ({ ...each, path: each.path.join('.') }))

  expect(reasons).toEqual([{ rule: 'MX028', path, message: expect.stringContaining(words) }])
})

test('a remote server may be pinned by the child, and its pin may not be dropped', () => {
  const pinned = { manifest: { ...manifest, servers: [{ ...docs, package_digest: digest }] } }
  const unpinned = { manifest: { ...manifest, servers: [docs] } }

  expect(attenuate(unpinned, pinned).allowed).toBe(true)
  expect(attenuate(pinned, unpinned).allowed).toBe(false)
})

test('listing a tool that neither can call is no power, calling one that only the child is shown is', () => {
  const narrowed = { manifest, policy: policyOf({ tools: ['@fs/read'] }) }

  expect(attenuate(narrowed, narrowed).allowed).toBe(true)
  const answer = attenuate(narrowed, { manifest, policy: policyOf({ tools: ['@fs'] }) })
  expect(answer).toMatchObject({ allowed: false, reasons: [{ path: ['servers', 0, 'tools', 1, 'name'] }] })
})

test('every answer has a reason for each thing that is too much', () => {
  const child = withFs({ version: '2.0.0', command: 'sh', tools: [{ name: 'rm', side_effect_class: 'write' }] })
  const answer = attenuate(parent, { manifest: { ...child, allowed_side_effects: ['shell', 'chain'] } })
  expect(!answer.allowed && answer.reasons).toHaveLength(5)
})

function withFs(change: Partial<StdioServer>): Manifest {
  return { ...manifest, servers: [{ ...fs, ...change }] }
}

function policyOf(change: Partial<Policy>): Policy {
  return { tools: ['*'], allowedTools: [], toolsSettings: {}, resources: [], hooks: {}, ...change }
}
