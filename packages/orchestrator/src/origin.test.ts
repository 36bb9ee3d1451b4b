import type { ResolvedTool } from '@matrix/tool-manager'
import { expect, test } from 'vitest'
import { originOfCall } from './origin.ts'

const digest = `sha256:${'a'.repeat(64)}`

function tool(alias: string, sideEffect: 'read' | 'network' | 'shell', transport: 'stdio' | 'http' = 'stdio') {
  const isOwn = alias === 'mxd'
  const command = isOwn ? 'mxd' : 'npx'
  const args = isOwn ? ['serve-tools', '--stdio'] : ['-y', 'x@1.0.0']
  const server = { alias, transport, version: '1.0.0', package_digest: digest, tools: [], env: [], command, args }
  const found = { name: 'x', side_effect_class: sideEffect }
  return {
    ...{ wireName: `mcp__${alias}__x`, uri: { server: alias, tool: 'x', pin: '1.0.0' }, server, tool: found },
  } as unknown as ResolvedTool
}

test('a command is trusted unless it reached a host that nobody trusts', () => {
  const shell = tool('mxd', 'shell')
  const registries = ['registry.npmjs.org']
  expect(originOfCall(shell, { reached: [] }, [])).toMatchObject({ source: 'repository', trusted: true })
  expect(originOfCall(shell, { reached: ['registry.npmjs.org:443'] }, registries)).toMatchObject({
    ...{ source: 'repository', trusted: true, hosts: ['registry.npmjs.org:443'] },
  })
  expect(originOfCall(shell, { reached: ['registry.npmjs.org:443', 'evil.example:80'] }, registries)).toMatchObject({
    ...{ source: 'web', trusted: false, hosts: ['evil.example:80'] },
  })
  expect(originOfCall(shell, { reached: ['registry.npmjs.org:8080'] }, registries).trusted).toBe(false)
})

test('what a server of somebody else says is untrusted at its digest, unless the user trusts the server', () => {
  expect(originOfCall(tool('notes', 'read'), { reached: [] }, [])).toMatchObject({
    ...{ source: 'tool', trusted: false, name: 'matrix://tool/mcp/notes/x@1.0.0', digest },
  })
  expect(originOfCall(tool('fetch', 'network'), { reached: ['a.example:443'] }, [])).toMatchObject({
    ...{ source: 'web', trusted: false, hosts: ['a.example:443'] },
  })
  expect(originOfCall(tool('remote', 'read', 'http'), {}, [])).toMatchObject({ source: 'web', trusted: false })
  expect(originOfCall(tool('notes', 'read'), { reached: [] }, ['@notes'])).toMatchObject({ trusted: true })
})

test('what Matrix itself answers is trusted, and the words of a tool that failed are not', () => {
  expect(originOfCall(tool('notes', 'read'), { code: 'AUTHORIZATION_DENIED' }, [])).toMatchObject({ source: 'matrix' })
  expect(originOfCall(tool('notes', 'read'), { code: 'TOOL_FAILED' }, [])).toMatchObject({ trusted: false })
})
