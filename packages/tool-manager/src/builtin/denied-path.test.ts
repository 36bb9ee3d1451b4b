import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Policy, Tool } from '@matrix/manifest'
import { expect, test } from 'vitest'
import { bootHarness, type Harness, manifestOf, temporaryFolder, textOf } from '../scripted-server.testing.ts'
import { builtinServerTools } from './serve-tools.ts'

const deniedPaths = ['secrets', '**/*.key']

test('what is denied is not found from above, in any mode, nor through a link', async () => {
  const { call, worktree } = await boot()
  put(worktree, { 'secrets/a.txt': 'token', 'src/deep/b.key': 'token', 'src/a.txt': 'one\ntoken\nthree' })
  symlinkSync(join(worktree, 'secrets'), join(worktree, 'harmless'))
  const search = async (input: object) => textOf(await call('search', { pattern: 'token', ...input }))

  expect(textOf(await call('list_files', {}))).toBe('src/a.txt')
  expect(await search({})).toBe('src/a.txt:2:token')
  expect(await search({ context: 1 })).toBe('src/a.txt-1-one\nsrc/a.txt:2:token\nsrc/a.txt-3-three')
  expect(await search({ mode: 'files' })).toBe('src/a.txt')
  expect(await search({ mode: 'count' })).toBe('src/a.txt:1')
  expect(await search({ path: worktree })).toBe('src/a.txt:2:token')
  for (const path of ['secrets', 'harmless', 'src/deep/b.key'])
    expect(await call('search', { pattern: 'token', path }), path).toMatchObject({ code: 'AUTHORIZATION_DENIED' })
})

test('what is denied takes no place from what is found', async () => {
  const { call, worktree } = await boot()
  put(worktree, Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`a${index}.key`, 'token'])))
  put(worktree, { 'z.txt': 'token' })

  expect(textOf(await call('search', { pattern: 'token', limit: 1 }))).toBe('z.txt:1:token')
})

test('a tool that leaves nothing out is not aimed above what is denied', async () => {
  const { call, worktree } = await boot()
  put(worktree, { 'secrets/a.txt': 'token' })

  expect(await call('bash', { command: 'cat secrets/a.txt' })).toMatchObject({ code: 'AUTHORIZATION_DENIED' })
})

async function boot(): Promise<Harness & { worktree: string }> {
  const worktree = temporaryFolder()
  chmodSync(worktree, 0o755)
  const server = {
    alias: 'mxd',
    transport: 'stdio' as const,
    command: 'mxd',
    args: ['serve-tools', '--stdio'],
    package_digest: `sha256:${'0'.repeat(64)}`,
    version: '0.1.0',
    tools: builtinServerTools.map(({ name, side_effect_class }): Tool => ({ name, side_effect_class })),
  }
  const settings = Object.fromEntries(builtinServerTools.map(({ name }) => [name, { deniedPaths }]))
  const policy: Policy = { tools: ['*'], allowedTools: ['@builtin'], toolsSettings: settings, resources: [], hooks: {} }
  const harness = await bootHarness({
    manifest: manifestOf([server], { allowed_side_effects: ['read', 'write', 'shell'] }),
    policy,
    worktree,
    poolOptions: { bootstrap: true },
  })
  return { ...harness, worktree }
}

function put(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}
