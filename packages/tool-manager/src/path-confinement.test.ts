import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Policy, Tool, ToolSettings } from '@matrix/manifest'
import { expect, test } from 'vitest'
import { builtinServerTools } from './builtin/serve-tools.ts'
import { openSandbox } from './sandbox/sandbox.ts'
import { bootHarness, manifestOf, temporaryFolder, textOf } from './scripted-server.testing.ts'

const files = {
  'secrets/a.txt': 'token',
  'src/deep/b.key': 'token',
  'src/a.txt': 'open',
  'docs/a.md': 'open',
}

test('no command reads, lists, changes or moves a denied path, by any name, glob or link', async () => {
  const { run, worktree } = await boot({ bash: { deniedPaths: ['secrets', '**/*.key'] } })
  symlinkSync('secrets/a.txt', join(worktree, 'harmless'))
  const attempts = [
    'cat secrets/a.txt',
    'cat harmless',
    'cat sec*/a.txt src/*/*.key',
    'cd secrets && cat a.txt',
    'cat "$(printf secr)"ets/a.txt',
    'grep -r token .',
    'ln src/deep/b.key copy; cat copy',
    'mv src other; cat other/deep/b.key; mv other src',
    'cp -r secrets stolen; cat stolen/*',
    "node -e \"console.log(require('fs').readFileSync('secrets/a.txt', 'utf8'))\"",
    'tar cf - . 2>/dev/null | grep -a token',
    'chmod 777 secrets; umount secrets; cat secrets/a.txt',
  ]
  for (const command of attempts) expect(await run(command), command).not.toContain('token')
  await run('echo changed > src/deep/b.key; echo changed > secrets/a.txt; rm -rf secrets src/deep/b.key')

  expect(readFileSync(join(worktree, 'secrets/a.txt'), 'utf8')).toBe('token')
  expect(readFileSync(join(worktree, 'src/deep/b.key'), 'utf8')).toBe('token')
  expect(await run('cat src/a.txt; echo more > src/new.txt; cat src/new.txt')).toBe('openmore')
})

test('a shell with a list of allowed paths has nothing else of the worktree, and asks nobody', async () => {
  const { run, worktree } = await boot({ bash: { allowedPaths: ['src/**'], deniedPaths: ['**/*.key'] } })

  expect(await run('ls; cat src/a.txt')).toBe('src\nopen')
  expect(await run('cat src/deep/b.key docs/a.md')).not.toContain('token')
  await run('echo x > src/new.txt; echo x > docs/new.txt; echo x > new.txt')
  expect(['src/new.txt', 'docs/new.txt', 'new.txt'].map((file) => existsSync(join(worktree, file)))).toEqual([
    true,
    false,
    false,
  ])
})

test('the lists of the shell are not those of the tools for files, nor the reverse', async () => {
  const { run, call } = await boot({ bash: { deniedPaths: ['secrets'] }, read_file: { deniedPaths: ['docs'] } })

  expect(await run('cat docs/a.md; cat secrets/a.txt')).toMatch(/^open[\s\S]*denied/i)
  expect(textOf(await call('read_file', { path: 'secrets/a.txt' }))).toContain('token')
  expect(await call('read_file', { path: 'docs/a.md' })).toMatchObject({ code: 'AUTHORIZATION_DENIED' })
})

test('what every tool is denied is hidden from all of them, and a search says nothing of it', async () => {
  const denied = { deniedPaths: ['secrets'] }
  const names = builtinServerTools.map(({ name }) => name)
  const { call, run } = await boot(Object.fromEntries(names.map((name) => [name, denied])))

  expect(textOf(await call('search', { pattern: 'token|open' }))).toBe(
    'docs/a.md:1:open\nsrc/a.txt:1:open\nsrc/deep/b.key:1:token',
  )
  expect(await run('cat secrets/a.txt')).toMatch(/denied/i)
})

test('without a sandbox a shell with lists of paths is refused', async () => {
  const { call } = await boot({ bash: { deniedPaths: ['secrets'] } }, 'off')

  expect(await call('bash', { command: 'cat secrets/a.txt' })).toMatchObject({ code: 'AUTHORIZATION_DENIED' })
})

async function boot(toolsSettings: Record<string, ToolSettings>, mode: 'required' | 'off' = 'required') {
  const worktree = temporaryFolder()
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(worktree, dirname(file)), { recursive: true })
    writeFileSync(join(worktree, file), text)
    chmodSync(join(worktree, file), 0o666)
  }
  for (const folder of ['.', 'secrets', 'src', 'src/deep', 'docs']) chmodSync(join(worktree, folder), 0o777)
  const server = {
    alias: 'mxd',
    transport: 'stdio' as const,
    command: 'mxd',
    args: ['serve-tools', '--stdio'],
    package_digest: `sha256:${'0'.repeat(64)}`,
    version: '0.1.0',
    tools: builtinServerTools.map(({ name, side_effect_class }): Tool => ({ name, side_effect_class })),
  }
  const policy: Policy = { tools: ['*'], allowedTools: ['@builtin'], toolsSettings, resources: [], hooks: {} }
  const { call } = await bootHarness({
    manifest: manifestOf([server], { allowed_side_effects: ['read', 'write', 'shell'] }),
    policy,
    worktree,
    poolOptions: { bootstrap: true, sandbox: await openSandbox({ mode }) },
  })
  return { call, worktree, run: async (command: string) => textOf(await call('bash', { command })) }
}
