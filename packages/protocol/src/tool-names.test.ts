import { expect, test } from 'vitest'
import { builtinTools, loopTools, orchestratorTools } from './tool-names.ts'

test('every tool of Matrix itself has one wire name below 64 characters, under the alias mxd', () => {
  const names = [builtinTools, orchestratorTools, loopTools].flatMap((tools) => Object.values<string>(tools))

  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^mcp__mxd__[a-z_]{1,54}$/)
  expect(builtinTools.bash).toBe('mcp__mxd__bash')
})
