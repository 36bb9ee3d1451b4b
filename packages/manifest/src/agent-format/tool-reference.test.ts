import { expect, test } from 'vitest'
import { resolveAllowed, resolveMatcher, resolveSettingsKey, resolveVisible } from './tool-reference.ts'

const servers = ['git', 'rust-analyzer', 'awslabs.docs']
const rulesOf = ({ problems }: { problems: { rule: string; severity?: string }[] }) =>
  problems.map(({ rule, severity }) => (severity ? `${rule} ${severity}` : rule))

test.each([
  ['@git', ['@git']],
  ['@git/', ['@git']],
  ['@git/*', ['@git']],
  ['@git/git-status', ['@git/git-status']],
  ['@awslabs.docs', ['@awslabs.docs']],
  ['@awslabs.docs/search', ['@awslabs.docs/search']],
  ['@native', ['@builtin']],
  ['@builtin/*', ['@builtin']],
  ['@native/execute-bash', ['bash', 'background']],
  ['@mxd/create_task', ['create_task']],
  ['fs-write', ['write_file', 'edit_file']],
])('%s in tools is shown as %j', (text, references) => {
  expect(resolveVisible(text, servers)).toEqual({ references, problems: [] })
})

test.each([
  ['@git/get_*', 'MX027'],
  ['fs_*', 'MX027'],
  ['@g*/x', 'MX027'],
  ['use_aws', 'MX027'],
  ['no_such_tool', 'MX027'],
  ['#reviewer', 'MX029'],
  ['', 'MX001'],
  ['@', 'MX001'],
  ['@/x', 'MX001'],
  ['@git/[*', 'MX001'],
])('%s in tools shows nothing: %s', (text, rule) => {
  const resolved = resolveVisible(text, servers)

  expect(resolved.references).toEqual([])
  expect(rulesOf(resolved)).toEqual([rule])
})

test.each([
  ['@git-*', '@git-*', ['MX027']],
  ['@g*', '@g*', []],
  ['@git*_status', '@git*_status', []],
  ['@*/status', '@*/status', []],
  ['@git/*', '@git', []],
  ['@elsewhere/x', '@elsewhere/x', ['MX027']],
  ['@builtin/**', '@builtin', []],
  ['@*', '@*', ['MX019 warning']],
  ['@*/*', '@*', ['MX019 warning']],
])('%s in allowedTools is kept as %s', (text, reference, problems) => {
  const resolved = resolveAllowed(text, servers)

  expect(resolved.references).toEqual([reference])
  expect(rulesOf(resolved)).toEqual(problems)
})

test.each(['*', '**', '?*', '{*,x}', '[!z]*'])('%s in allowedTools is refused: it would allow everything', (text) => {
  const resolved = resolveAllowed(text, servers)

  expect(resolved.references).toEqual([])
  expect(rulesOf(resolved)).toEqual(['MX019 error'])
})

test('a slash that names no tool allows nothing', () => {
  expect(resolveAllowed('@git/', servers)).toMatchObject({ references: [], problems: [{ rule: 'MX027' }] })
})

test('a dot is read as a slash when a declared server stands before it, and said so', () => {
  for (const resolve of [resolveVisible, resolveAllowed, resolveSettingsKey, resolveMatcher])
    expect(resolve('@git.git-status', servers)).toEqual({
      references: ['@git/git-status'],
      problems: [
        {
          rule: 'MX018',
          message: '"@git.git-status" is read as "@git/git-status".',
          fix: 'Write "@git/git-status".',
        },
      ],
    })
  expect(resolveAllowed('@git.*', servers)).toMatchObject({ references: ['@git'], problems: [{ rule: 'MX018' }] })
  expect(resolveAllowed('@native.fs-write', servers)).toMatchObject({
    references: ['write_file', 'edit_file'],
    problems: [{ rule: 'MX018' }],
  })
})

test.each(['@gitlab.status', '@git.', '@g*.status', '@.x'])(
  '%s is never a grant: no declared server stands before the dot',
  (text) => {
    const resolved = resolveAllowed(text, servers)

    expect(resolved.references).toEqual([])
    expect(rulesOf(resolved)).toEqual(['MX018 error'])
  },
)

test('a declared server with a dot in its name wins over the reading with a slash', () => {
  expect(resolveAllowed('@git.status', ['git', 'git.status'])).toEqual({ references: ['@git.status'], problems: [] })
})

test.each([
  ['fs_write', ['write_file', 'edit_file'], []],
  ['@builtin/bash', ['bash'], []],
  ['execute_bash', ['bash'], []],
  ['@git/push', ['@git/push'], []],
  ['@git', [], ['MX027']],
  ['@git/*', [], ['MX027']],
  ['@builtin', [], ['MX027']],
  ['*', [], ['MX027']],
  ['use_aws', [], ['MX027']],
])('the settings key %s stands for %j', (text, references, problems) => {
  const resolved = resolveSettingsKey(text, servers)

  expect(resolved.references).toEqual(references)
  expect(rulesOf(resolved)).toEqual(problems)
})

test.each([
  ['*', ['*']],
  ['@builtin', ['@builtin']],
  ['fs_*', ['read_file', 'list_files', 'search', 'write_file', 'edit_file']],
  ['@git', ['@git']],
  ['@*', ['@*']],
])('the matcher %s stands for %j', (text, references) => {
  expect(resolveMatcher(text, servers)).toEqual({ references, problems: [] })
})
