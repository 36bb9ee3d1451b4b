import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reservedAliases } from '../manifest/own-server.ts'
import { isAlias } from '../manifest/tool-uri.ts'
import { openAliases } from './alias.ts'

test('an alias is what people call the server, in the letters that an alias may have', () => {
  const cases = {
    'GitHub MCP': 'github-mcp',
    'io.github.example/weather_mcp': 'weather_mcp',
    'Über  Tool!': 'uber-tool',
    my__server: 'my_server',
    '@scope/name': 'name',
    '--x--': 'x',
    日本: 'server',
    '': 'server',
  }
  for (const [name, alias] of Object.entries(cases)) expect(openAliases()(name), name).toBe(alias)
})

test('servers that would get one alias are counted, within the longest that an alias may be', () => {
  const aliasOf = openAliases()
  const long = 'a'.repeat(40)

  expect([long, long, long].map(aliasOf)).toEqual(['a'.repeat(32), `${'a'.repeat(30)}-2`, `${'a'.repeat(30)}-3`])
  expect(['git', 'git-2', 'Git', 'builtin', 'native', 'mxd'].map(aliasOf)).toEqual([
    'git',
    'git-2',
    'git-3',
    'builtin-2',
    'native-2',
    'mxd-2',
  ])
})

test('a file of fifty thousand servers with one name between them is no reason to wait', () => {
  const names = Array.from({ length: 50_000 }, (_, index) => `git${'!'.repeat(index % 7)}`)

  expect(new Set(names.map(openAliases())).size).toBe(50_000)
})

test('whatever servers are called, their aliases are valid, different and none is reserved', () => {
  const name = fc.oneof(fc.string(), fc.constantFrom('git', 'Git', 'builtin', 'mxd', '_', 'a'.repeat(60), 'x/y/'))
  fc.assert(
    fc.property(fc.array(name, { maxLength: 20 }), (names) => {
      const aliases = names.map(openAliases())

      expect(aliases.filter((alias) => !isAlias(alias) || reservedAliases.includes(alias))).toEqual([])
      expect(new Set(aliases).size).toBe(names.length)
    }),
  )
})
