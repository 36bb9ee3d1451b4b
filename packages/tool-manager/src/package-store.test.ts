import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { digestBytes, type StdioServer } from '@matrix/manifest'
import { expect, onTestFinished, test, vi } from 'vitest'
import { scanTree } from './file-tree.ts'
import { openPackageStore, type PackageProgress, readLockFile } from './package-store.ts'
import { openSandbox } from './sandbox/sandbox.ts'
import { temporaryFolder } from './scripted-server.testing.ts'
import { openServerPool } from './server-pool.ts'
import { readListing, writeListing } from './tree-listing.ts'

const sandbox = await openSandbox({ mode: 'required' })

// Each runs npm several times, beside whatever else the machine does.
vi.setConfig({ testTimeout: 300_000 })

test('a package is fetched, verified, installed and found again without the network', async () => {
  const { digest, folder, requests } = await publish()
  const steps: PackageProgress['step'][] = []
  const stored = await openPackageStore(folder, { sandbox }).getPackage(wanted(digest), {
    onProgress: ({ step }) => steps.push(step),
  })
  const asked = requests.length
  const again = await openPackageStore(folder, { offline: true }).getPackage(wanted(digest))

  expect(steps).toEqual(['fetch', 'install', 'ready'])
  expect(stored).toMatchObject({
    name: 'tiny-server',
    version: '1.0.0',
    digest,
    integrity: expect.stringMatching(/^sha512-/),
  })
  expect(execFileSync(process.execPath, [join(stored.folder, stored.programs['tiny-server'] ?? '')]).toString()).toBe(
    'it runs\n',
  )
  expect(again).toEqual(stored)
  expect(requests).toHaveLength(asked)
})

test('no script of a package runs when it is installed', async () => {
  const marker = join(temporaryFolder(), 'ran')
  const { digest, folder } = await publish({ scripts: { postinstall: `touch ${marker}`, prepare: `touch ${marker}` } })
  await openPackageStore(folder, { sandbox }).getPackage(wanted(digest))

  expect(existsSync(marker)).toBe(false)
})

test.each([
  ['git', { 'tiny-part': 'git+file:///tmp/evil' }],
  ['git of a host', { 'tiny-part': 'someone/tiny-part' }],
  ['URL', { 'tiny-part': 'http://127.0.0.1:1/tiny-part.tgz' }],
  ['file', { 'tiny-part': 'file:../part.tgz' }],
  ['folder', { 'tiny-part': 'file:../../..' }],
])('a package with a %s dependency is refused, and nothing of it is kept', async (_, dependencies) => {
  const { digest, folder } = await publish({ dependencies })
  const store = openPackageStore(folder, { sandbox })

  await expect(store.getPackage(wanted(digest))).rejects.toMatchObject({ code: 'DEPENDENCY_REFUSED' })
  expect(await store.list()).toEqual([])
})

test('a repository that a package depends on runs neither its scripts nor the git that its .npmrc names', async () => {
  const [repository, marker] = [temporaryFolder(), join(temporaryFolder(), 'ran')]
  writeFileSync(join(repository, '.npmrc'), 'git=./evil.sh\nignore-scripts=false\n')
  writeFileSync(join(repository, 'evil.sh'), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 })
  const packageJson = { name: 'tiny-part', version: '1.0.0', scripts: { prepare: './evil.sh' } }
  writeFileSync(join(repository, 'package.json'), JSON.stringify(packageJson))
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: repository })
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'one')
  const { digest, folder } = await publish({ dependencies: { 'tiny-part': `git+file://${repository}` } })
  for (const each of [sandbox, await openSandbox({ mode: 'off' })])
    await expect(openPackageStore(folder, { sandbox: each }).getPackage(wanted(digest))).rejects.toMatchObject({
      code: 'DEPENDENCY_REFUSED',
      message: expect.stringContaining('git'),
    })

  expect(existsSync(marker)).toBe(false)
})

test('a lock file that leads to a repository, a link or bytes without integrity is refused before npm sees it', async () => {
  const { digest, folder, dependency } = await publish({ dependencies: { 'tiny-part': '^1.0.0' } })
  dependency('1.0.0')
  const stored = await openPackageStore(folder, { sandbox }).getPackage(wanted(digest))
  const good = (await readLockFile(stored)) as { packages: Record<string, object> }
  const { integrity: _, ...bare } = good.packages['node_modules/tiny-part'] as { integrity: string }
  const bad = [
    { ...bare, resolved: 'git+ssh://git@example.com/a.git#0123' },
    { ...good.packages['node_modules/tiny-part'], resolved: 'file:../a.tgz' },
    { resolved: '../elsewhere', link: true },
    bare,
    { ...bare, integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' },
  ]
  for (const entry of bad) {
    const lockFile = { ...good, packages: { ...good.packages, 'node_modules/tiny-part': entry } }
    const elsewhere = openPackageStore(temporaryFolder(), { sandbox })
    await expect(elsewhere.getPackage({ ...wanted(digest), lockFile })).rejects.toMatchObject({
      code: 'DEPENDENCY_REFUSED',
    })
  }
})

test('a name that is a folder, a repository or an address is never looked up', async () => {
  const store = openPackageStore(temporaryFolder(), { sandbox })
  for (const spec of [
    './a@1.0.0',
    '/etc@1.0.0',
    'a/b@1.0.0',
    'a@git+file:///tmp/x',
    'a@http://127.0.0.1/x.tgz',
    'git+ssh://git@h/x',
  ])
    await expect(store.lookUp(spec)).rejects.toMatchObject({ code: 'DEPENDENCY_REFUSED' })
})

test('bytes other than the pinned ones are refused, and nothing of them is kept', async () => {
  const { folder } = await publish({ description: 'not what was pinned' })
  const store = openPackageStore(folder, { sandbox })

  await expect(store.getPackage(wanted(digestBytes('something else')))).rejects.toMatchObject({
    code: 'PACKAGE_MISMATCH',
  })
  expect(await store.list()).toEqual([])
  expect(readdirSync(join(folder, 'tmp'))).toEqual([])
})

test('a digest that belongs to another package is refused even if the store has it', async () => {
  const { digest, folder } = await publish()
  const store = openPackageStore(folder, { sandbox })
  await store.getPackage(wanted(digest))

  await expect(store.getPackage({ ...wanted(digest), name: 'other' })).rejects.toMatchObject({
    code: 'PACKAGE_MISMATCH',
  })
})

test('what a lock says about dependencies and integrity is held, too', async () => {
  const { digest, folder } = await publish()
  const store = openPackageStore(folder, { sandbox })
  const { dependencies_digest } = await store.getPackage(wanted(digest))

  await expect(store.getPackage({ ...wanted(digest), dependencies_digest })).resolves.toBeDefined()
  await expect(
    store.getPackage({ ...wanted(digest), dependencies_digest: digestBytes('others') }),
  ).rejects.toMatchObject({ code: 'PACKAGE_MISMATCH' })
})

test('with its lock file, a package has the same dependencies on a machine that never saw it', async () => {
  const { digest, folder } = await publish()
  const stored = await openPackageStore(folder, { sandbox }).getPackage(wanted(digest))
  const lockFile = await readLockFile(stored)
  const { dependencies_digest } = stored
  const elsewhere = openPackageStore(temporaryFolder(), { sandbox })

  expect(JSON.stringify(lockFile)).not.toContain('http')
  expect(await elsewhere.getPackage({ ...wanted(digest), dependencies_digest, lockFile })).toMatchObject({
    dependencies_digest,
  })
})

test('the same bytes are kept beside each other with the dependencies of today and with those of a lock', async () => {
  const { digest, folder, dependency } = await publish({ dependencies: { 'tiny-part': '^1.0.0' } })
  dependency('1.0.0')
  const elsewhere = await openPackageStore(temporaryFolder(), { sandbox }).getPackage(wanted(digest))
  const { dependencies_digest } = elsewhere
  const locked = { ...wanted(digest), dependencies_digest, lockFile: await readLockFile(elsewhere) }
  dependency('1.1.0')
  const today = await openPackageStore(folder, { sandbox }).getPackage(wanted(digest))

  expect(today.dependencies_digest).not.toBe(dependencies_digest)
  expect(await openPackageStore(folder, { sandbox }).getPackage(locked)).toMatchObject({ digest, dependencies_digest })
  const offline = openPackageStore(folder, { offline: true })
  expect(await offline.getPackage(locked)).toMatchObject({ dependencies_digest })
  expect(await offline.getPackage({ ...wanted(digest), dependencies_digest: today.dependencies_digest })).toEqual(today)
})

test('a fetch goes on for as long as one of those who want it waits, and ends when nobody does', async () => {
  const { digest, folder, hold } = await publish()
  const asked = hold()
  const store = openPackageStore(folder, { sandbox })
  const [one, other] = [new AbortController(), new AbortController()]
  const first = store.getPackage(wanted(digest), one)
  const second = store.getPackage(wanted(digest), other)
  await asked
  one.abort()
  await expect(first).rejects.toMatchObject({ code: 'TOOL_CANCELLED' })
  other.abort()

  await expect(second).rejects.toMatchObject({ code: 'TOOL_CANCELLED' })
  expect(readdirSync(join(folder, 'tmp'))).toEqual([])
})

test('servers that are closed give up what is being fetched for them', async () => {
  const { digest, folder, hold } = await publish()
  const asked = hold()
  const pool = openServerPool({
    sandbox: await openSandbox({ mode: 'off' }),
    store: openPackageStore(folder, { sandbox }),
  })
  const args = ['-y', 'tiny-server@1.0.0']
  const server: StdioServer = {
    ...{ alias: 'tiny', transport: 'stdio', command: 'npx', args },
    ...{ version: '1.0.0', package_digest: digest, tools: [] },
  }
  const use = pool.lease({ server, sideEffects: [] }).server.use(async () => 'used')
  await asked
  await pool.close()

  await expect(use).rejects.toMatchObject({ code: 'TOOL_CANCELLED' })
  expect(readdirSync(join(folder, 'tmp'))).toEqual([])
})

test('a package that was changed in the store is not run by the next process', async () => {
  const { digest, folder } = await publish()
  const stored = await openPackageStore(folder, { sandbox }).getPackage(wanted(digest))
  writeFileSync(join(stored.folder, 'package.tgz'), 'changed')

  await expect(openPackageStore(folder, { sandbox }).getPackage(wanted(digest))).rejects.toMatchObject({
    code: 'PACKAGE_MISMATCH',
  })
})

test.each([
  ['edited', (part: string) => writeFileSync(join(part, 'index.js'), 'evil')],
  [
    'edited with its old times',
    (part: string) => {
      const file = join(part, 'index.js')
      const { atime, mtime, size } = statSync(file)
      writeFileSync(file, 'x'.repeat(size))
      utimesSync(file, atime, mtime)
    },
  ],
  ['added', (part: string) => writeFileSync(join(part, 'more.js'), 'evil')],
  ['removed', (part: string) => rmSync(join(part, 'index.js'))],
  [
    'replaced by a link',
    (part: string) => {
      rmSync(join(part, 'index.js'))
      symlinkSync('/tmp/evil.js', join(part, 'index.js'))
    },
  ],
])('a file of a dependency that was %s in the store is refused before the next launch', async (_, change) => {
  const { digest, folder, dependency } = await publish({ dependencies: { 'tiny-part': '^1.0.0' } })
  dependency('1.0.0')
  const store = openPackageStore(folder, { sandbox })
  const stored = await store.getPackage(wanted(digest))
  await expect(store.getPackage(wanted(digest))).resolves.toEqual(stored)
  change(join(stored.folder, 'node_modules/tiny-part'))

  for (const each of [store, openPackageStore(folder, { offline: true })])
    await expect(each.getPackage(wanted(digest))).rejects.toMatchObject({
      code: 'PACKAGE_MISMATCH',
      message: expect.stringMatching(/tiny-part.(?:index|more)\.js/),
    })
})

test('a full check reads every byte, whatever the list of what was read before says', async () => {
  const { digest, folder } = await publish()
  const stored = await openPackageStore(folder, { sandbox }).getPackage(wanted(digest))
  writeFileSync(join(stored.folder, 'node_modules/tiny-server/index.js'), 'evil')
  const listing = join(folder, 'listings', `${basename(stored.folder)}.json`)
  const tree = await scanTree(stored.folder, { isSkipped: (path) => path === 'record.json' })
  const before = await readListing(listing)
  const forged = [...tree].map(
    ([path, entry]) => [path, { ...entry, digest: before?.get(path)?.digest ?? '' }] as const,
  )
  await writeListing(listing, new Map(forged))
  const store = openPackageStore(folder, { offline: true })

  await expect(store.getPackage(wanted(digest), { isFull: true })).rejects.toMatchObject({ code: 'PACKAGE_MISMATCH' })
})

test('what a crash left half done is not taken for a package', async () => {
  const { digest, folder } = await publish()
  const { folder: half } = await openPackageStore(folder, { sandbox }).getPackage(wanted(digest))
  writeFileSync(join(half, 'record.json'), '{"name": "tiny-')
  const stored = await openPackageStore(folder, { sandbox }).getPackage(wanted(digest))

  expect(JSON.parse(readFileSync(join(stored.folder, 'record.json'), 'utf8'))).toMatchObject({ digest })
})

test('two that want the same package at once share one fetch', async () => {
  const { digest, folder, requests } = await publish()
  const store = openPackageStore(folder, { sandbox })
  const both = await Promise.all([store.getPackage(wanted(digest)), store.getPackage(wanted(digest))])

  expect(both[0]).toEqual(both[1])
  expect(requests.filter((url) => url.endsWith('.tgz'))).toHaveLength(1)
})

test('without the network, a package that is not there is unavailable', async () => {
  const store = openPackageStore(temporaryFolder(), { offline: true })

  await expect(store.getPackage(wanted(digestBytes('x')))).rejects.toMatchObject({
    code: 'PACKAGE_UNAVAILABLE',
    message: expect.stringContaining('is not in the store'),
  })
})

function wanted(digest: string) {
  return { name: 'tiny-server', version: '1.0.0', digest }
}

/** A registry with one package in it, and what that depends on, for as long as the test runs. */
async function publish(more: object = {}) {
  const server = pack('tiny-server', '1.0.0', { bin: 'index.js', ...more })
  const parts: Packed[] = []
  const requests: string[] = []
  let held: (() => void) | undefined
  const registry = createServer(({ url = '', headers }, response) => {
    requests.push(url)
    if (held) return held()
    const found = [server, ...parts].filter(({ name }) => url.startsWith(`/${name}`))
    if (url.endsWith('.tgz')) return void response.end(found.find(({ version }) => url.includes(version))?.bytes)
    const versions = found.map(({ name, version, packageJson, bytes }) => {
      const tarball = `http://${headers.host}/${name}-${version}.tgz`
      const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
      return [version, { ...packageJson, dist: { tarball, integrity } }]
    })
    response.setHeader('content-type', 'application/json')
    const tags = { latest: found.at(-1)?.version }
    response.end(JSON.stringify({ name: found[0]?.name, 'dist-tags': tags, versions: Object.fromEntries(versions) }))
  })
  await new Promise<void>((done) => registry.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    registry.closeAllConnections()
    registry.close()
  })
  vi.stubEnv('npm_config_registry', `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`)
  vi.stubEnv('npm_config_cache', temporaryFolder())
  vi.stubEnv('npm_config_prefer_online', 'true')
  onTestFinished(() => void vi.unstubAllEnvs())
  return {
    digest: digestBytes(server.bytes),
    folder: temporaryFolder(),
    requests,
    dependency: (version: string) => void parts.push(pack('tiny-part', version)),
    /** From here on nothing is answered; settles when something was asked. */
    hold: () =>
      new Promise<void>((done) => {
        held = done
      }),
  }
}

type Packed = ReturnType<typeof pack>

function pack(name: string, version: string, more: object = {}) {
  const source = temporaryFolder()
  const packageJson = { name, version, ...more }
  writeFileSync(join(source, 'package.json'), JSON.stringify(packageJson))
  writeFileSync(join(source, 'index.js'), '#!/usr/bin/env node\nconsole.log("it runs")\n')
  execFileSync('npm', ['pack', '--ignore-scripts'], { cwd: source, stdio: 'ignore' })
  return { name, version, packageJson, bytes: readFileSync(join(source, `${name}-${version}.tgz`)) }
}
