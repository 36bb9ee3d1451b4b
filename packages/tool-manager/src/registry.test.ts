import { expect, test } from 'vitest'
import { buildRegistry } from './registry.ts'
import { manifestOf, scriptedServer } from './scripted-server.testing.ts'

const first = scriptedServer()
const second = scriptedServer({}, { alias: 'second' })
const registry = buildRegistry(manifestOf([first, second]))

test('every name of a tool leads to it and back', () => {
  for (const resolved of registry.tools) {
    const { server, tool, pin } = resolved.uri
    expect(registry.resolve(resolved.wireName)).toBe(resolved)
    expect(registry.resolve(`matrix://tool/mcp/${server}/${tool}@${pin}`)).toBe(resolved)
    expect(registry.resolve(`matrix://tool/mcp/${server}/${tool}@${resolved.server.package_digest}`)).toBe(resolved)
  }
})

test.each([
  ['mcp__scripted__nothing', 'TOOL_UNKNOWN'],
  ['matrix://tool/mcp/third/echo@1.0.0', 'TOOL_UNKNOWN'],
  ['matrix://tool/mcp/scripted/echo@9.9.9', 'TOOL_UNKNOWN'],
  ['matrix://tool/mcp/scripted/echo', 'ErrUnpinnedTool'],
  ['matrix://tool/mcp/scripted/echo@latest', 'ErrUnpinnedTool'],
  ['file:///etc/passwd', 'URI_MALFORMED'],
  ['echo', 'TOOL_AMBIGUOUS'],
  ['__proto__', 'TOOL_UNKNOWN'],
])('%s is %s', (name, code) => {
  expect(() => registry.resolve(name)).toThrow(expect.objectContaining({ code }))
})

test('another pin than the manifest’s says which one it is', () => {
  expect(() => registry.resolve('matrix://tool/mcp/scripted/echo@9.9.9')).toThrow(
    expect.objectContaining({ hint: 'The manifest pins "scripted" to 1.0.0.' }),
  )
})
