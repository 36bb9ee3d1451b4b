import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export type PackedPackage = { name: string; version: string; tarball: Buffer }

/** The package in a folder, as it would be published. */
export function packPackage(folder: string): PackedPackage {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  execFileSync('npm', ['pack', '--ignore-scripts'], { cwd: folder, stdio: 'ignore' })
  return { name, version, tarball: readFileSync(join(folder, `${name}-${version}.tgz`)) }
}

/** Just enough of a registry for one package; `fetched` counts how often its bytes were asked for. */
export async function serveRegistry({ name, version, tarball }: PackedPackage) {
  let fetched = 0
  const server = createServer((request, response) => {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    if (request.url === `/${name}.tgz`) {
      fetched += 1
      return void response.end(tarball)
    }
    if (request.url !== `/${name}`) return void response.writeHead(404).end('{"error":"not found"}')
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
    const one = { name, version, dist: { tarball: `${origin}/${name}.tgz`, integrity } }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: one } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, fetched: () => fetched }
}
