import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { findHosts, findMissingBuilds } from './lockfile.ts'
import { root } from './root.ts'

const lockfile = readFileSync(`${root}/pnpm-lock.yaml`, 'utf8')

test('every native tool in the lockfile can be installed on macOS, Linux and Windows', () => {
  expect(findMissingBuilds(lockfile)).toEqual([])
})

test.each(['esbuild@', 'turbo@', '@biomejs/biome@', 'rolldown@', 'typescript@', 'lightningcss@', 'oxc-parser@'])(
  '%s is recognised as a native tool: without its Windows build it is reported',
  (tool) => {
    const withoutWindows = lockfile.replaceAll(/^ {6}'?\S*(win32|windows)\S*: \S+\n/gm, '')

    expect(findMissingBuilds(withoutWindows)).toContainEqual(
      expect.stringMatching(new RegExp(`^${tool}[\\d.]+ has no win32-x64 build$`)),
    )
  },
)

test('a tool that was resolved for Linux only is reported for each platform it lacks', () => {
  const linuxOnly = lockfileOf({
    'fast-linux-x64': 'os: [linux], cpu: [x64]',
    'fast-linux-arm64': 'os: [linux], cpu: [arm64]',
  })

  expect(findMissingBuilds(linuxOnly)).toEqual([
    'fast@1.0.0 has no darwin-arm64 build',
    'fast@1.0.0 has no darwin-x64 build',
    'fast@1.0.0 has no win32-x64 build',
  ])
})

test('an optional extra of one system is no native tool', () => {
  expect(findMissingBuilds(lockfileOf({ fsevents: 'os: [darwin]' }))).toEqual([])
})

test('neither the lockfile nor the workspace nor any .npmrc names a registry or another host', () => {
  const tracked = execFileSync('git', ['ls-files', '--', '*.npmrc', 'pnpm-workspace.yaml'], {
    cwd: root,
    encoding: 'utf8',
  })
  const files = ['pnpm-lock.yaml', ...tracked.split('\n').filter(Boolean)]

  for (const file of files)
    expect({ file, hosts: findHosts(readFileSync(`${root}/${file}`, 'utf8')) }).toEqual({ file, hosts: [] })
})

test.each([
  'registry=https://npm.example.com/',
  'registry = npm.example.com',
  '@matrix:registry=npm.example.com',
  'resolution: {integrity: sha512-x, tarball: https://npm.example.com/zod.tgz}',
  'tarball: npm.example.com/zod.tgz',
  'version: git+ssh://git@example.com/zod.git',
])('"%s" is reported with its line', (line) => {
  expect(findHosts(`# first\n${line}\n`)).toEqual([`2: ${line}`])
})

function lockfileOf(builds: Record<string, string>): string {
  const packages = Object.entries(builds).map(([name, fields]) => `  ${name}@1.0.0: { ${fields} }`)
  const optional = Object.keys(builds).map((name) => `      ${name}: 1.0.0`)
  return ['packages:', ...packages, 'snapshots:', '  fast@1.0.0:', '    optionalDependencies:', ...optional, ''].join(
    '\n',
  )
}
