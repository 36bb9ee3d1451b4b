import { expect, test } from 'vitest'
import type { Policy } from '../policy/policy.ts'
import type { ToolName } from '../policy/tool-pattern.ts'
import { attenuatePolicy } from './policy-attenuation.ts'

const bash: ToolName = { server: undefined, tool: 'bash' }
const write: ToolName = { server: 'fs', tool: 'write' }

const parent: Policy = {
  tools: ['*'],
  allowedTools: ['@fs/*'],
  toolsSettings: {
    bash: { allowedCommands: ['git .*', 'ls'], deniedCommands: ['rm .*'], denyByDefault: true, region: 'eu' },
    '@fs/write': {
      allowedPaths: ['src', 'docs/**'],
      deniedPaths: ['src/keys'],
      allowedHosts: ['*.example.org'],
      deniedHosts: ['x'],
    },
  },
  resources: ['file://docs', 'file:///etc/hosts'],
  hooks: { preToolUse: [{ command: 'guard', matcher: '@fs' }], stop: [{ command: 'bye' }] },
}

test('a narrower policy is allowed', () => {
  const child: Policy = {
    tools: ['bash'],
    allowedTools: ['@fs/write'],
    toolsSettings: {
      bash: { allowedCommands: ['ls'], deniedCommands: ['rm .*', 'curl .*'], denyByDefault: true, region: 'eu' },
      '@fs/write': {
        allowedPaths: ['src/a', 'docs/b/*.md'],
        deniedPaths: ['src/keys', 'x'],
        allowedHosts: ['api.example.org'],
        deniedHosts: ['x'],
      },
    },
    resources: ['file://docs/readme.md'],
    hooks: { preToolUse: [{ matcher: '@fs', command: 'guard' }] },
  }
  expect(attenuatePolicy(parent, child, [bash, write])).toEqual([])
})

test.each<[string, Policy, string, string]>([
  [
    'runs a tool unasked',
    { ...parent, allowedTools: ['@fs', 'ba*'] },
    'policy.allowedTools.1',
    'runs "bash" without asking',
  ],
  [
    'allows another path',
    settings('@fs/write', { allowedPaths: ['src', 'lib'] }),
    'policy.toolsSettings.@fs/write.allowedPaths',
    '"lib" in allowedPaths',
  ],
  [
    'climbs out of a path',
    settings('@fs/write', { allowedPaths: ['src/../lib'] }),
    'policy.toolsSettings.@fs/write.allowedPaths',
    '"src/../lib"',
  ],
  [
    'drops the paths',
    settings('@fs/write', { allowedPaths: undefined }),
    'policy.toolsSettings.@fs/write.allowedPaths',
    'has no allowedPaths',
  ],
  [
    'drops a denied path',
    settings('@fs/write', { deniedPaths: [] }),
    'policy.toolsSettings.@fs/write.deniedPaths',
    'no longer has "src/keys"',
  ],
  [
    'allows another host',
    settings('@fs/write', { allowedHosts: ['example.com'] }),
    'policy.toolsSettings.@fs/write.allowedHosts',
    '"example.com"',
  ],
  [
    'drops a denied host',
    settings('@fs/write', { deniedHosts: undefined }),
    'policy.toolsSettings.@fs/write.deniedHosts',
    'no longer has "x"',
  ],
  [
    'allows another command',
    settings('bash', { allowedCommands: ['ls', 'git push'] }),
    'policy.toolsSettings.bash.allowedCommands',
    '"git push"',
  ],
  [
    'drops a denied command',
    settings('bash', { deniedCommands: ['rm -rf .*'] }),
    'policy.toolsSettings.bash.deniedCommands',
    'no longer has "rm .*"',
  ],
  [
    'asks instead of refusing',
    settings('bash', { denyByDefault: false }),
    'policy.toolsSettings.bash.denyByDefault',
    'asks where its parent refuses',
  ],
  [
    'reads unasked',
    settings('bash', { autoAllowReadonly: true }),
    'policy.toolsSettings.bash.autoAllowReadonly',
    'reads unasked',
  ],
  [
    'changes what is not known',
    settings('bash', { region: 'us' }),
    'policy.toolsSettings.bash.region',
    'another value of "region"',
  ],
  ['reads another file', { ...parent, resources: ['file:///etc/passwd'] }, 'policy.resources.0', 'reads a file'],
  [
    'runs another command',
    { ...parent, hooks: { ...parent.hooks, agentSpawn: [{ command: 'x' }] } },
    'policy.hooks.agentSpawn.0',
    'On agentSpawn, the child runs',
  ],
  ['loses a guard', { ...parent, hooks: {} }, 'policy.hooks.preToolUse', 'is gone'],
])('a child that %s is not', (_, child, path, words) => {
  const reasons = attenuatePolicy(parent, child, [bash, write]).map((each) => ({ ...each, path: each.path.join('.') }))
  expect(reasons).toEqual([{ rule: 'MX028', path, message: expect.stringContaining(words) }])
})

test('only tools that the child can call are compared', () => {
  const child = settings('bash', { denyByDefault: false, allowedCommands: ['.*'] })
  expect(attenuatePolicy(parent, child, [write])).toEqual([])
})

test('a list that lets through unasked is no restriction where the parent always asks', () => {
  const strict: Policy = { ...parent, allowedTools: [], toolsSettings: {} }
  const child: Policy = { ...strict, toolsSettings: { bash: { allowedCommands: ['ls'] } } }

  expect(attenuatePolicy(strict, child, [bash])).toHaveLength(1)
  expect(attenuatePolicy({ ...strict, allowedTools: ['bash'] }, child, [bash])).toEqual([])
})

test('without a policy the parent shows and allows all, but reads and runs nothing on its own', () => {
  const child: Policy = { ...parent, resources: [], hooks: {}, toolsSettings: { bash: { denyByDefault: true } } }

  expect(attenuatePolicy(undefined, child, [bash, write])).toEqual([])
  expect(attenuatePolicy(undefined, { ...child, resources: ['file://x'] }, [bash])).toHaveLength(1)
  expect(attenuatePolicy(undefined, { ...child, hooks: parent.hooks }, [bash])).toHaveLength(2)
  expect(attenuatePolicy(parent, undefined, [])).toHaveLength(1)
  expect(attenuatePolicy(undefined, undefined, [bash])).toEqual([])
})

function settings(tool: string, change: Policy['toolsSettings'][string]): Policy {
  return { ...parent, toolsSettings: { ...parent.toolsSettings, [tool]: { ...parent.toolsSettings[tool], ...change } } }
}
