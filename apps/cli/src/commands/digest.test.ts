import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { folderWith, goodManifest, matrix } from '../matrix-process.testing.ts'
import { packPackage, serveRegistry } from '../npm-registry.testing.ts'

test('a file is hashed as it stands', async () => {
  const cwd = folderWith({ 'server.mjs': 'export {}\n' })

  expect(JSON.parse((await matrix(['digest', '--json', './server.mjs'], { cwd })).stdout)).toEqual({
    file: './server.mjs',
    package_digest: `sha256:${createHash('sha256').update('export {}\n').digest('hex')}`,
    bytes: 10,
  })
})

test('a manifest also has a content address, which spacing and key order do not change', async () => {
  const reordered = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(goodManifest)).reverse()))
  const cwd = folderWith({ 'a.json': goodManifest, 'b.json': reordered })
  const address = async (file: string) =>
    JSON.parse((await matrix(['digest', '--json', file], { cwd })).stdout).content_address

  expect(await address('a.json')).toMatch(/^sha256:[0-9a-f]{64}$/)
  expect(await address('b.json')).toBe(await address('a.json'))
})

test('a published package is fetched from the registry and hashed as served, and nothing in it runs', async () => {
  const cwd = folderWith({
    'package.json': '{"name":"left-leg","version":"1.2.3","scripts":{"prepare":"touch ran","install":"touch ran"}}',
    'index.js': '',
  })
  const packed = packPackage(cwd)
  const { tarball } = packed
  const registry = await serveRegistry(packed)
  const { code, stdout } = await matrix(['digest', '--json', 'left-leg@1.2.3'], {
    cwd,
    env: { npm_config_registry: registry.url, HOME: cwd },
  })

  expect({ code, facts: JSON.parse(stdout) }).toEqual({
    code: 0,
    facts: {
      package: 'left-leg@1.2.3',
      package_digest: `sha256:${createHash('sha256').update(tarball).digest('hex')}`,
      integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
      bytes: tarball.length,
    },
  })
})

test('a package that is not there, or a registry that is not, means: could not verify', async () => {
  const cwd = folderWith()
  const registry = await serveRegistry({ name: 'left-leg', version: '1.2.3', tarball: Buffer.from('') })
  const env = { HOME: cwd, npm_config_registry: registry.url }

  expect(await matrix(['digest', 'no-such-package@1.0.0'], { cwd, env })).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('no such package in the registry'),
  })
})

test('what is neither a file nor a package name is a usage error', async () => {
  for (const target of ['./missing', '--', 'a b', 'git+https://example.org/x.git', 'name@git+ssh://x'])
    expect(await matrix(['digest', '--json', '--', target], { cwd: folderWith() }), target).toMatchObject({ code: 2 })
})
