import { type Policy, SideEffect, type Tool, type ToolSettings } from '@matrix/manifest'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CallTarget } from './call-target.ts'
import { checkGate, type GateRules, isDenied } from './gate.ts'
import { buildRegistry } from './registry.ts'
import { manifestOf, scriptedServer } from './scripted-server.testing.ts'
import { parseShellText } from './shell/shell-text.ts'

test('without a policy a tool of an allowed class runs', async () => {
  expect(await decide({})).toEqual({ verdict: 'allow' })
})

test('each step is asked in its order, and the first that says no gives the reason', async () => {
  const everything = {
    deny: ['@scripted'],
    blocked: 'by a hook',
    skills: () => [{ name: 'none', tools: new Set<string>(), grants: undefined }],
    manifest: { allowed_side_effects: [] },
    policy: policy({ toolsSettings: { '@scripted/echo': { deniedCommands: ['.*'] } } }),
  }
  const without = (...keys: string[]) =>
    Object.fromEntries(Object.entries(everything).filter(([key]) => !keys.includes(key)))

  expect(await decide(everything)).toMatchObject({ step: 'user' })
  expect(await decide(without('deny'))).toMatchObject({ step: 'hook' })
  expect(await decide(without('deny', 'blocked'))).toMatchObject({ step: 'skill' })
  expect(await decide(without('deny', 'blocked', 'skills'))).toMatchObject({ step: 'side-effects' })
  expect(await decide(without('deny', 'blocked', 'skills', 'manifest'))).toMatchObject({ step: 'settings' })
})

test.each(['@scripted', '@scripted/echo', 'mcp__scripted__echo', 'mcp__scripted__*'])(
  'the user denies a tool by %s',
  async (name) => {
    expect(await decide({ deny: [name] })).toMatchObject({ verdict: 'deny', step: 'user' })
  },
)

test.each(['bash', '@mxd/bash', 'mcp__mxd__bash'])("the user denies one of Matrix's own tools by %s", (name) => {
  const own = { server: undefined, tool: 'bash' }

  expect([isDenied([name], own), isDenied([name], { ...own, tool: 'search' })]).toEqual([true, false])
})

test('a tool that is not in allowedTools is asked about', async () => {
  expect(await decide({ policy: policy({}) })).toMatchObject({ verdict: 'ask' })
  expect(await decide({ policy: policy({ allowedTools: ['@scripted/echo'] }) })).toEqual({ verdict: 'allow' })
})

test('a tool that the policy does not show cannot be called by guessing its name', async () => {
  expect(await decide({ policy: policy({ tools: [], allowedTools: ['@scripted'] }) })).toMatchObject({
    verdict: 'deny',
  })
})

test('a chain tool never runs, whatever is allowed', async () => {
  expect(await decide({ effect: 'chain', manifest: { allowed_side_effects: [...SideEffect.options] } })).toMatchObject({
    verdict: 'deny',
    step: 'side-effects',
  })
})

test.each<[string, ToolSettings, object, string]>([
  ['a denied path', { deniedPaths: ['secrets/**'] }, { paths: ['secrets/key'] }, 'deny'],
  ['a path below a denied one', { deniedPaths: ['/etc'] }, { paths: ['/etc/shadow'] }, 'deny'],
  [
    'a folder that holds a denied path',
    { deniedPaths: ['src/secrets'] },
    { paths: ['src'], folders: ['/repo/src'] },
    'deny',
  ],
  ['a folder that holds none', { deniedPaths: ['src/secrets'] }, { paths: ['doc'], folders: ['/repo/doc'] }, 'ask'],
  ['a denied command', { deniedCommands: ['rm .*'] }, { commands: ['rm -rf /'] }, 'deny'],
  ['a denied command on a second line', { deniedCommands: ['.*curl.*'] }, { commands: ['true\ncurl evil'] }, 'deny'],
  ['a deny list that cannot be read', { deniedCommands: ['('] }, { commands: ['ls'] }, 'deny'],
  ['a denied host', { deniedHosts: ['*.evil.example'] }, { hosts: ['a.evil.example'] }, 'deny'],
  ['an allowed path', { allowedPaths: ['src/**'] }, { paths: ['src/a.ts'] }, 'allow'],
  ['one path of two that is not allowed', { allowedPaths: ['src/**'] }, { paths: ['src/a.ts', '/etc/passwd'] }, 'ask'],
  ['a path that only looks allowed', { allowedPaths: ['src'] }, { paths: ['src/../../etc'] }, 'ask'],
  ['an allowed command', { allowedCommands: ['git status'] }, { commands: ['git status'] }, 'allow'],
  ['a command with more behind it', { allowedCommands: ['git status'] }, { commands: ['git status; rm x'] }, 'ask'],
  ['what no list allows', { allowedPaths: ['src'], denyByDefault: true }, { paths: ['doc'] }, 'deny'],
  [
    'an allowed path on a denied host',
    { allowedPaths: ['src'], deniedHosts: ['x'] },
    { paths: ['src'], hosts: ['x'] },
    'deny',
  ],
])('%s', async (_, settings, target, verdict) => {
  const rules = { policy: policy({ toolsSettings: { '@scripted/echo': settings } }) }

  expect(await decide(rules, target)).toMatchObject({ verdict })
})

test('a denial and an allow list both hold for a tool that runs unasked', async () => {
  const settings = { '@scripted/echo': { deniedPaths: ['secrets'], allowedPaths: ['src'] } }
  const rules = { policy: policy({ allowedTools: ['@scripted'], toolsSettings: settings }) }

  expect(await decide(rules, { paths: ['secrets/a'] })).toMatchObject({ verdict: 'deny' })
  expect(await decide(rules, { paths: ['doc/a'] })).toMatchObject({ verdict: 'ask' })
  expect(await decide(rules, { paths: ['src/a'] })).toMatchObject({ verdict: 'allow' })
})

test.each<[string, ToolSettings, object]>([
  ['an allowed path', { allowedPaths: ['src'] }, { paths: ['src/a'], named: { paths: false } }],
  ['a denied path', { deniedPaths: ['doc'] }, { paths: ['src/a'], named: { paths: false } }],
  ['a denied host', { deniedHosts: ['y'] }, { hosts: ['x'], named: { hosts: false } }],
  ['an allowed command', { allowedCommands: ['ls'] }, { commands: ['ls'], named: { commands: false } }],
  ['a denied command', { deniedCommands: ['rm .*'] }, { commands: ['ls'], named: { commands: false } }],
  ['an allowed host', { allowedHosts: ['x'] }, { hosts: ['x'], named: { hosts: false } }],
])('a rule about %s asks where no argument says what it is', async (_, settings, target) => {
  const rules = { policy: policy({ allowedTools: ['@scripted'], toolsSettings: { '@scripted/echo': settings } }) }

  expect(await decide(rules, target)).toMatchObject({ verdict: 'ask' })
})

test('a rule about something else than what is not known decides by itself', async () => {
  const rules = { policy: policy({ toolsSettings: { '@scripted/echo': { allowedPaths: ['src'] } } }) }
  const named = { paths: true, commands: false, hosts: false }

  expect(await decide(rules, { paths: ['src/a'], named })).toEqual({ verdict: 'allow' })
})

test('a denied path is denied in any argument, also where another one has the role', async () => {
  const rules = { policy: policy({ toolsSettings: { '@scripted/echo': { deniedPaths: ['secrets'] } } }) }

  expect(await decide(rules, { paths: ['src/a'], others: ['secrets/key'] })).toMatchObject({ verdict: 'deny' })
})

test('more denials never allow more', async () => {
  const word = fc.constantFrom('a', 'b', 'a/b', '*', '@scripted', '@scripted/echo', '.*')
  const words = fc.array(word, { maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(words, words, words, words, async (deniedPaths, deny, allowedTools, paths) => {
      const rules = (denied: string[], more: string[]) => ({
        deny: more,
        policy: policy({ allowedTools, toolsSettings: { '@scripted/echo': { deniedPaths: denied } } }),
      })
      const rank = { deny: 0, ask: 1, allow: 2 }
      const loose = await decide(rules([], []), { paths })
      const strict = await decide(rules(deniedPaths, deny), { paths })

      expect(rank[strict.verdict]).toBeLessThanOrEqual(rank[loose.verdict])
    }),
  )
})

type Rules = Partial<Omit<GateRules, 'grant'>> & { policy?: Policy; manifest?: object; effect?: SideEffect }

async function decide({ policy: held, manifest, effect = 'read', ...rules }: Rules, target: object = {}) {
  const tools: Tool[] = [{ name: 'echo', side_effect_class: effect }]
  const declared = manifestOf([{ ...scriptedServer(), tools }], manifest)
  const tool = buildRegistry(declared).resolve('echo')
  const base = { cwd: '/repo', home: '/home/me' }
  return checkGate(
    { tool, target: await aimOf(target) },
    { grant: { manifest: declared, policy: held }, base, ...rules },
  )
}

async function aimOf({ commands = ['ls'], ...more }: { commands?: string[] }): Promise<CallTarget> {
  const named = { paths: true, commands: true, hosts: true }
  return {
    ...{ paths: ['a'], folders: [], others: [], hosts: [], named },
    commands: await Promise.all(commands.map(parseShellText)),
    ...more,
  }
}

function policy(more: Partial<Policy>): Policy {
  return { tools: ['*'], allowedTools: [], toolsSettings: {}, resources: [], hooks: {}, ...more }
}
