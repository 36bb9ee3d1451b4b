import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findToolSettings, isToolAllowed, isToolVisible, matchesHook, type ToolName } from './tool-pattern.ts'

const native = (tool: string): ToolName => ({ server: undefined, tool })
const of = (server: string, tool: string): ToolName => ({ server, tool })

test('tools shows whole servers, single tools and native names, and nothing by pattern', () => {
  expect(isToolVisible(['read_file'], native('read_file'))).toBe(true)
  expect(isToolVisible(['@builtin'], native('bash'))).toBe(true)
  expect(isToolVisible(['@native/bash'], native('bash'))).toBe(true)
  expect(isToolVisible(['@git'], of('git', 'status'))).toBe(true)
  expect(isToolVisible(['@git/'], of('git', 'status'))).toBe(true)
  expect(isToolVisible(['@git/*'], of('git', 'status'))).toBe(true)
  expect(isToolVisible(['@git/status'], of('git', 'status'))).toBe(true)
  expect(isToolVisible(['@git/status'], of('git', 'push'))).toBe(false)
  expect(isToolVisible(['@git/st*'], of('git', 'status'))).toBe(false)
  expect(isToolVisible(['read*'], native('read_file'))).toBe(false)
  expect(isToolVisible(['@builtin'], of('git', 'status'))).toBe(false)
  expect(isToolVisible(['status'], of('git', 'status'))).toBe(false)
  expect(isToolVisible([], native('bash'))).toBe(false)
})

test('a star shows everything only when it stands alone', () => {
  expect(isToolVisible(['*'], of('git', 'status'))).toBe(true)
  expect(isToolVisible(['*'], native('bash'))).toBe(true)
  expect(isToolVisible(['*', '@git'], of('fetch', 'get'))).toBe(false)
})

test('allowedTools lets native tools run by name, by pattern and by prefix', () => {
  expect(isToolAllowed(['read_*'], native('read_file'))).toBe(true)
  for (const all of ['@builtin', '@builtin/', '@builtin/*', '@native', '@mxd/*'])
    expect(isToolAllowed([all], native('bash'))).toBe(true)
  expect(isToolAllowed(['@builtin/read_*'], native('read_file'))).toBe(true)
  expect(isToolAllowed(['@builtin/read_*'], native('bash'))).toBe(false)
  expect(isToolAllowed(['@*'], native('bash'))).toBe(false)
})

test('allowedTools lets tools of servers run only by patterns that start with @', () => {
  expect(isToolAllowed(['@git'], of('git', 'status'))).toBe(true)
  expect(isToolAllowed(['@git/status'], of('git', 'status'))).toBe(true)
  expect(isToolAllowed(['@git/get_*'], of('git', 'get_log'))).toBe(true)
  expect(isToolAllowed(['@git-*'], of('git-x', 'push'))).toBe(true)
  expect(isToolAllowed(['@*/status'], of('git', 'status'))).toBe(true)
  expect(isToolAllowed(['@git/status'], of('git', 'push'))).toBe(false)
  expect(isToolAllowed(['*', 'status', 'git'], of('git', 'status'))).toBe(false)
  expect(isToolAllowed(['@git.status'], of('git', 'status'))).toBe(false)
})

test('settings belong to exactly one tool', () => {
  const settings = { bash: { denyByDefault: true }, '@git/push': { deniedHosts: ['x'] }, '@git': {} }

  expect(findToolSettings(settings, native('bash'))).toEqual({ denyByDefault: true })
  expect(findToolSettings(settings, of('git', 'push'))).toEqual({ deniedHosts: ['x'] })
  expect(findToolSettings(settings, of('git', 'status'))).toBeUndefined()
  expect(findToolSettings(settings, of('x', 'bash'))).toBeUndefined()
  expect(findToolSettings({}, native('constructor'))).toBeUndefined()
})

test('a hook without a matcher, or with a star, runs for every tool', () => {
  expect(matchesHook(undefined, of('git', 'push'))).toBe(true)
  expect(matchesHook('*', of('git', 'push'))).toBe(true)
  expect(matchesHook('@builtin', of('git', 'push'))).toBe(false)
  expect(matchesHook('@builtin', native('bash'))).toBe(true)
  expect(matchesHook('@git', of('git', 'push'))).toBe(true)
  expect(matchesHook('write_*', native('write_file'))).toBe(true)
})

const name = fc.string({ unit: fc.constantFrom('a', 'b', '-', '_', '.'), minLength: 1, maxLength: 6 })

test('a server whose name only starts like another one is never meant by it', () => {
  fc.assert(
    fc.property(name, name, name, (server, more, tool) => {
      const longer = of(server + more, tool)
      for (const entry of [`@${server}`, `@${server}/`, `@${server}/*`, `@${server}/${tool}`]) {
        expect(isToolVisible([entry], longer)).toBe(false)
        expect(isToolAllowed([entry], longer)).toBe(false)
      }
    }),
  )
  expect(isToolVisible(['@git'], of('github', 'x'))).toBe(false)
  expect(isToolVisible(['@github/x'], of('git', 'x'))).toBe(false)
})

test('without a wildcard, an entry names exactly one tool, or all of exactly one server', () => {
  fc.assert(
    fc.property(name, name, name, name, (server, tool, otherServer, otherTool) => {
      const candidate = of(otherServer, otherTool)
      expect(isToolAllowed([`@${server}`], candidate)).toBe(server === otherServer)
      expect(isToolAllowed([`@${server}/${tool}`], candidate)).toBe(server === otherServer && tool === otherTool)
      expect(isToolAllowed([tool], native(otherTool))).toBe(tool === otherTool)
    }),
  )
})

test('more entries never take anything away, except from a lone star', () => {
  const entry = fc.oneof(
    name,
    name.map((server) => `@${server}`),
    fc.tuple(name, name).map(([server, tool]) => `@${server}/${tool}*`),
  )
  fc.assert(
    fc.property(fc.array(entry), entry, name, name, (entries, extra, server, tool) => {
      for (const candidate of [native(tool), of(server, tool)]) {
        if (isToolAllowed(entries, candidate)) expect(isToolAllowed([...entries, extra], candidate)).toBe(true)
        if (isToolVisible(entries, candidate)) expect(isToolVisible([...entries, extra], candidate)).toBe(true)
      }
    }),
  )
})
