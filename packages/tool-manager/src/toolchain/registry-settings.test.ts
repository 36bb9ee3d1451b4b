import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSandbox } from '../sandbox/sandbox.ts'
import { readRegistrySettings } from './registry-settings.ts'

const sandbox = await openSandbox({ mode: 'auto' })
const boxedTest = test.runIf(sandbox.isBoxing)

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'matrix-registry-'))
})
afterEach(() => rmSync(home, { recursive: true }))

test('where packages come from is told inside, and what proves who asks is not', () => {
  write(
    '.npmrc',
    'registry=https://npm.corp/\n//npm.corp/:_authToken=SECRET\n@a:registry=https://me:SECRET@npm.corp/\n_auth=SECRET\n',
  )
  write(
    '.config/pip/pip.conf',
    '[global]\nindex-url = https://me:SECRET@pypi.corp/simple\nextra-index-url = https://pypi.corp/more\n',
  )
  write('.cargo/config.toml', '[source.crates-io]\nreplace-with = "corp"\n[registries.corp]\ntoken = "SECRET"\n')
  write('.config/go/env', 'GOPROXY=https://go.corp\nGOAUTH=SECRET\n')
  const { files, env } = readRegistrySettings(home, {})
  const text = (name: string) => files.find(({ target }) => target.includes(name))?.text

  expect(text('npmrc')).toContain('registry=https://npm.corp/\n')
  expect(text('pip.conf')).toContain('extra-index-url = https://pypi.corp/more\n')
  expect(text('.cargo')).toBe('[source.crates-io]\nreplace-with = "corp"\n[registries.corp]\n')
  expect(env).toMatchObject({ GOPROXY: 'https://go.corp' })
  expect(JSON.stringify([files, env])).not.toContain('SECRET')
})

test('a pipe, a folder or nothing in place of a file is no setting', () => {
  execFileSync('mkfifo', [join(home, '.npmrc')])
  mkdirSync(join(home, '.cargo/config.toml'), { recursive: true })

  expect(readRegistrySettings(home, {}).files.map(({ target }) => target)).not.toContain('/.cargo/config.toml')
})

boxedTest('npm in a sandbox asks the registry that it asks outside', async () => {
  write('.npmrc', 'registry=https://npm.corp/\n')
  const { files, env } = readRegistrySettings(home, {})
  const running = await sandbox.spawn({
    program: '/bin/bash',
    args: ['-c', 'npm config get registry; test -w /run/matrix/npmrc || echo read-only'],
    env,
    policy: { sideEffects: ['shell'], files },
  })

  expect(Buffer.concat(await running.stdout.toArray()).toString()).toBe('https://npm.corp/\nread-only\n')
})

test('no file is put where an agent can write', async () => {
  const policy = { sideEffects: ['shell'] as const, files: [{ target: '/home/agent/.npmrc', text: '' }] }

  if (sandbox.isBoxing)
    await expect(sandbox.spawn({ program: '/bin/true', policy })).rejects.toMatchObject({ code: 'SANDBOX_REFUSED' })
})

function write(name: string, text: string): void {
  mkdirSync(dirname(join(home, name)), { recursive: true })
  writeFileSync(join(home, name), text)
}
