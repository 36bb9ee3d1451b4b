import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith, goodManifest, matrix } from '../matrix-process.testing.ts'

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
  execFileSync('npm', ['pack', '--ignore-scripts'], { cwd, stdio: 'ignore' })
  const tarball = readFileSync(join(cwd, 'left-leg-1.2.3.tgz'))
  const registry = await serveRegistry(tarball)
  const { code, stdout } = await matrix(['digest', '--json', 'left-leg@1.2.3'], {
    cwd,
    env: { npm_config_registry: registry, HOME: cwd },
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
  const registry = await serveRegistry(Buffer.from(''))
  const env = { HOME: cwd, npm_config_registry: registry }

  expect(await matrix(['digest', 'no-such-package@1.0.0'], { cwd, env })).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('no such package in the registry'),
  })
})

test('what is neither a file nor a package name is a usage error', async () => {
  for (const target of ['./missing', '--', 'a b', 'git+https://example.org/x.git', 'name@git+ssh://x'])
    expect(await matrix(['digest', '--json', '--', target], { cwd: folderWith() }), target).toMatchObject({ code: 2 })
})

/** Just enough of a registry for one package. */
async function serveRegistry(tarball: Buffer): Promise<string> {
  const server = createServer((request, response) => {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    if (request.url === '/left-leg.tgz') return void response.end(tarball)
    if (request.url !== '/left-leg') return void response.writeHead(404).end('{"error":"not found"}')
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
    const dist = { tarball: `${origin}/left-leg.tgz`, integrity }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        name: 'left-leg',
        'dist-tags': { latest: '1.2.3' },
        versions: { '1.2.3': { name: 'left-leg', version: '1.2.3', dist } },
      }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
