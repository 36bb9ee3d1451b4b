import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { digestBytes } from '@matrix/manifest'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openPackageStore, type PackageProgress, readLockFile } from './package-store.ts'
import { temporaryFolder } from './scripted-server.testing.ts'

test('a package is fetched, verified, installed and found again without the network', { timeout: 60_000 }, async () => {
  const { digest, folder, requests } = await publish()
  const steps: PackageProgress['step'][] = []
  const stored = await openPackageStore(folder).getPackage(wanted(digest), {
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

test('no script of a package runs when it is installed', { timeout: 60_000 }, async () => {
  const marker = join(temporaryFolder(), 'ran')
  const { digest, folder } = await publish({ scripts: { postinstall: `touch ${marker}`, prepare: `touch ${marker}` } })
  await openPackageStore(folder).getPackage(wanted(digest))

  expect(existsSync(marker)).toBe(false)
})

test('bytes other than the pinned ones are refused, and nothing of them is kept', { timeout: 60_000 }, async () => {
  const { folder } = await publish({ description: 'not what was pinned' })
  const store = openPackageStore(folder)

  await expect(store.getPackage(wanted(digestBytes('something else')))).rejects.toMatchObject({
    code: 'PACKAGE_MISMATCH',
  })
  expect(await store.list()).toEqual([])
  expect(readdirSync(join(folder, 'tmp'))).toEqual([])
})

test('a digest that belongs to another package is refused even if the store has it', { timeout: 60_000 }, async () => {
  const { digest, folder } = await publish()
  const store = openPackageStore(folder)
  await store.getPackage(wanted(digest))

  await expect(store.getPackage({ ...wanted(digest), name: 'other' })).rejects.toMatchObject({
    code: 'PACKAGE_MISMATCH',
  })
})

test('what a lock says about dependencies and integrity is held, too', { timeout: 60_000 }, async () => {
  const { digest, folder } = await publish()
  const store = openPackageStore(folder)
  const { dependencies_digest } = await store.getPackage(wanted(digest))

  await expect(store.getPackage({ ...wanted(digest), dependencies_digest })).resolves.toBeDefined()
  await expect(
    store.getPackage({ ...wanted(digest), dependencies_digest: digestBytes('others') }),
  ).rejects.toMatchObject({ code: 'PACKAGE_MISMATCH' })
})

test('with its lock file, a package has the same dependencies on a machine that never saw it', {
  timeout: 60_000,
}, async () => {
  const { digest, folder } = await publish()
  const stored = await openPackageStore(folder).getPackage(wanted(digest))
  const lockFile = await readLockFile(stored)
  const { dependencies_digest } = stored
  const elsewhere = openPackageStore(temporaryFolder())

  expect(JSON.stringify(lockFile)).not.toContain('http')
  expect(await elsewhere.getPackage({ ...wanted(digest), dependencies_digest, lockFile })).toMatchObject({
    dependencies_digest,
  })
})

test('a package that was changed in the store is not run by the next process', { timeout: 60_000 }, async () => {
  const { digest, folder } = await publish()
  const stored = await openPackageStore(folder).getPackage(wanted(digest))
  writeFileSync(join(stored.folder, 'package.tgz'), 'changed')

  await expect(openPackageStore(folder).getPackage(wanted(digest))).rejects.toMatchObject({ code: 'PACKAGE_MISMATCH' })
})

test('what a crash left half done is not taken for a package', { timeout: 60_000 }, async () => {
  const { digest, folder } = await publish()
  const half = join(folder, 'sha256', digest.slice('sha256:'.length))
  mkdirSync(half, { recursive: true })
  writeFileSync(join(half, 'record.json'), '{"name": "tiny-')
  const stored = await openPackageStore(folder).getPackage(wanted(digest))

  expect(JSON.parse(readFileSync(join(stored.folder, 'record.json'), 'utf8'))).toMatchObject({ digest })
})

test('two that want the same package at once share one fetch', { timeout: 60_000 }, async () => {
  const { digest, folder, requests } = await publish()
  const store = openPackageStore(folder)
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

/** A registry with one package in it, for as long as the test runs. */
async function publish(more: object = {}) {
  const source = temporaryFolder()
  const packageJson = { name: 'tiny-server', version: '1.0.0', bin: 'index.js', ...more }
  writeFileSync(join(source, 'package.json'), JSON.stringify(packageJson))
  writeFileSync(join(source, 'index.js'), '#!/usr/bin/env node\nconsole.log("it runs")\n')
  execFileSync('npm', ['pack', '--ignore-scripts'], { cwd: source, stdio: 'ignore' })
  const bytes = readFileSync(join(source, 'tiny-server-1.0.0.tgz'))
  const requests: string[] = []
  const registry = createServer(({ url = '', headers }, response) => {
    requests.push(url)
    if (url.endsWith('.tgz')) return void response.end(bytes)
    const tarball = `http://${headers.host}/tiny-server-1.0.0.tgz`
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    const versions = { '1.0.0': { ...packageJson, dist: { tarball, integrity } } }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ name: 'tiny-server', 'dist-tags': { latest: '1.0.0' }, versions }))
  })
  await new Promise<void>((done) => registry.listen(0, '127.0.0.1', done))
  onTestFinished(() => void registry.close())
  vi.stubEnv('npm_config_registry', `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`)
  vi.stubEnv('npm_config_cache', temporaryFolder())
  onTestFinished(() => void vi.unstubAllEnvs())
  return { digest: digestBytes(bytes), folder: temporaryFolder(), requests }
}
