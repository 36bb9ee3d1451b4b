import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { proposeHosts } from './host-proposal.ts'
import { findRegistryAddresses } from './registry-address.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-hosts-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const nothing = findRegistryAddresses({ env: {}, home: '/nonexistent' })
const hosts = async () => (await proposeHosts(folder, nothing)).map(({ host }) => host)

test.each<[string, Record<string, string>, string[]]>([
  ['npm', { 'package.json': '{}' }, ['registry.npmjs.org']],
  [
    'a lock of npm with another registry',
    { 'package-lock.json': '{"packages":{"a":{"resolved":"https://npm.example.com:8443/a.tgz"}}}' },
    ['npm.example.com:8443'],
  ],
  [
    'pnpm',
    { 'pnpm-lock.yaml': 'x:\n  resolution: {tarball: https://codeload.example.com/a/tar.gz/1}' },
    ['codeload.example.com'],
  ],
  ['yarn', { 'yarn.lock': 'a@1:\n  resolved "https://registry.yarnpkg.com/a.tgz#1"' }, ['registry.yarnpkg.com']],
  [
    'yarn 4, whose lock names no address',
    { 'yarn.lock': '__metadata:\n  version: 8\n"a@npm:1":\n  version: 1.0.0' },
    ['registry.yarnpkg.com'],
  ],
  ['yarn that is configured', { '.yarnrc': 'registry "https://npm.acme.example/"' }, ['npm.acme.example']],
  [
    '.npmrc',
    { '.npmrc': '@acme:registry=https://npm.acme.example/\n//npm.acme.example/:_authToken=secret' },
    ['npm.acme.example'],
  ],
  [
    'Python',
    { 'requirements-dev.txt': '--index-url https://user:secret@pypi.example.com/simple\nx' },
    ['pypi.org', 'files.pythonhosted.org', 'pypi.example.com'],
  ],
  [
    'Rust',
    { 'Cargo.toml': 'x = { git = "https://git.example.com/x" }' },
    ['index.crates.io', 'static.crates.io', 'git.example.com'],
  ],
  ['Go', { 'sub/go.mod': 'module x' }, ['proxy.golang.org', 'sum.golang.org']],
  [
    'Gradle',
    { 'gradle/wrapper/gradle-wrapper.properties': 'distributionUrl=https\\://services.gradle.org/x.zip' },
    ['services.gradle.org'],
  ],
  [
    'Ruby',
    { 'Gemfile.lock': 'GEM\n  remote: https://gems.example.com/' },
    ['rubygems.org', 'index.rubygems.org', 'gems.example.com'],
  ],
  ['submodules', { '.gitmodules': '[submodule "x"]\n\turl = https://code.example.com/x.git' }, ['code.example.com']],
])('%s: the hosts are those that its files name', async (_, files, expected) => {
  for (const [name, text] of Object.entries(files)) write(name, text)

  expect((await hosts()).toSorted()).toEqual(expected.toSorted())
})

test('nothing of this machine or its network is proposed, no link is followed and no pipe waited for', async () => {
  const resolved = [
    'http://127.0.0.1:9',
    'http://localhost',
    'http://169.254.169.254',
    'http://[::1]',
    'http://2130706433',
  ]
  write('package-lock.json', JSON.stringify(resolved.map((url) => ({ resolved: `${url}/a.tgz` }))))
  symlinkSync('/etc/passwd', join(folder, 'yarn.lock'))
  execFileSync('/usr/bin/mkfifo', [join(folder, '.npmrc')])

  expect(await hosts()).toEqual([])
})

test('whatever a lock file holds, at most forty hosts are proposed, and each is a host', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(fc.webUrl(), fc.string({ maxLength: 60 })), { maxLength: 80 }), async (urls) => {
      write('package-lock.json', JSON.stringify(urls.map((resolved) => ({ resolved }))))
      const found = await hosts()
      expect(found.length).toBeLessThanOrEqual(40)
      for (const host of found) expect(host).toMatch(/^[a-z0-9_.-]+(?::\d+)?$/)
    }),
    { numRuns: 30 },
  )
})

test('a lock file of sixteen megabytes of anything is read through in a moment', async () => {
  const size = 16 << 20
  for (const [name, text] of [
    ['yarn.lock', '\n '],
    ['.gitmodules', '\n'],
    ['pom.xml', '<repository>'],
    ['package-lock.json', '"resolved":'],
  ] as const)
    write(name, text.repeat(size / text.length))
  const started = performance.now()
  await hosts()

  expect(performance.now() - started).toBeLessThan(10_000)
})

test("the user's own registries take the place of the public ones, and are passed on without a credential", async () => {
  write('package.json', '{}')
  write('go.mod', 'module x')
  write('home/.npmrc', 'registry=https://user:secret@npm.acme.example/repo/?token=secret\n//x/:_authToken=secret')
  const env = {
    GOPROXY: 'https://user:secret@go.acme.example,direct',
    PIP_INDEX_URL: 'https://u:secret@pip.acme.example/simple',
  }
  const registries = findRegistryAddresses({ env, home: join(folder, 'home') })

  expect((await proposeHosts(folder, registries)).map(({ host }) => host).toSorted()).toEqual([
    'go.acme.example',
    'npm.acme.example',
  ])
  expect(registries.env).toMatchObject({
    npm_config_registry: 'https://npm.acme.example/repo/',
    GOPROXY: 'https://go.acme.example/,direct',
    PIP_INDEX_URL: 'https://pip.acme.example/simple',
  })
  expect(JSON.stringify(registries)).not.toContain('secret')
})

function write(name: string, text: string): void {
  const file = join(folder, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
