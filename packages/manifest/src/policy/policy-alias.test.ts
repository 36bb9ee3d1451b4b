import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Policy } from './policy.ts'
import { renameServers } from './policy-alias.ts'
import { findToolSettings, isToolAllowed, isToolVisible, matchesHook } from './tool-pattern.ts'

const empty: Policy = { tools: [], allowedTools: [], toolsSettings: {}, resources: [], hooks: {} }
const aliases = { 'awslabs.docs': 'awslabs-docs', Git: 'git', git: 'git-2' }

test('every part of a policy follows its servers to their aliases', () => {
  const policy: Policy = {
    ...empty,
    tools: ['@builtin', 'bash', '@Git', '@awslabs.docs/search'],
    allowedTools: ['@git/status', '@awslabs*', '@*/get_*'],
    toolsSettings: { bash: {}, '@Git/push': { deniedHosts: ['example.com'] } },
    hooks: {
      preToolUse: [{ command: 'x', matcher: '@Git' }, { command: 'y' }],
      stop: [{ command: 'z', matcher: '*' }],
    },
  }

  const renamed = renameServers(policy, aliases)
  expect(renamed).toEqual({
    ...empty,
    tools: ['@builtin', 'bash', '@git', '@awslabs-docs/search'],
    allowedTools: ['@git-2/status', '@awslabs-docs', '@awslabs-docs/get_*', '@git/get_*', '@git-2/get_*'],
    toolsSettings: { bash: {}, '@git/push': { deniedHosts: ['example.com'] } },
    hooks: {
      preToolUse: [{ command: 'x', matcher: '@git' }, { command: 'y' }],
      stop: [{ command: 'z', matcher: '*' }],
    },
  })
  expect(Policy.safeParse(renamed).success).toBe(true)
})

test('a reference to a server that is not declared does not come to mean one that is given its name', () => {
  const references = ['@awslabs-docs', '@awslabs-docs/search', '@git-2']
  const renamed = renameServers({ ...empty, tools: references, allowedTools: references }, aliases)

  expect(renamed).toEqual(empty)
})

test('a pattern that cannot be taken apart allows nothing, and guards every server', () => {
  const policy: Policy = {
    ...empty,
    allowedTools: ['@{Git,git}*', '@Git/{a,b}*'],
    hooks: { preToolUse: [{ command: 'x', matcher: '@[Gg]it*' }] },
  }

  const renamed = renameServers(policy, aliases)
  expect(renamed.allowedTools).toEqual(['@git/{a,b}*'])
  expect(renamed.hooks).toEqual({ preToolUse: [{ command: 'x', matcher: '@*' }] })
})

test('under its alias a server has exactly the tools shown, allowed, narrowed and guarded that it had under its name', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '.'), minLength: 1, maxLength: 3 })
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?', '/'), minLength: 1, maxLength: 6 })
  const reference = pattern.filter((text) => /^[^/]+(?:\/[^/]+)?$/.test(text)).map((text) => `@${text}`)

  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 3 }), reference, name, (names, text, tool) => {
      const byName = Object.fromEntries(names.map((each, index) => [each, `s${index}`]))
      const hooks = { preToolUse: [{ command: 'x', matcher: text }] }
      const before: Policy = { ...empty, tools: [text], allowedTools: [text], toolsSettings: { [text]: {} }, hooks }
      const after = renameServers(before, byName)
      for (const [server, alias] of Object.entries(byName)) {
        const [old, now] = [server, alias].map((each) => ({ server: each, tool }))
        if (!old || !now) continue
        expect(isToolAllowed(after.allowedTools, now)).toBe(isToolAllowed(before.allowedTools, old))
        expect(after.hooks.preToolUse?.some(({ matcher }) => matchesHook(matcher, now))).toBe(matchesHook(text, old))
        if (/[*?]/.test(text)) continue
        expect(isToolVisible(after.tools, now)).toBe(isToolVisible(before.tools, old))
        expect(findToolSettings(after.toolsSettings, now)).toEqual(findToolSettings(before.toolsSettings, old))
      }
    }),
    { numRuns: 200 },
  )
})
