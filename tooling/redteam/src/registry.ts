import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { expectProgram } from '@matrix/tooling-proving/run-command'

/** A package as its author made it. */
export type Package = {
  name: string
  /** What its package.json says beside name, version and program. */
  packageJson?: Record<string, unknown>
  files?: Record<string, string>
  /** Arguments of tar that give its files other names or kinds. */
  tar?: readonly string[]
}

/** An npm registry on loopback that serves whatever it is given. */
export type Registry = {
  url: string
  /** Publishes version 1.0.0, in place of what was published under that name before. */
  publish(published: Package): Promise<void>
  close(): void
}

export async function openRegistry(folder: string): Promise<Registry> {
  const published = new Map<string, { packageJson: object; bytes: Buffer }>()
  const server = createServer(({ url = '', headers }, response) => {
    const name = /^\/([a-z0-9-]+?)(-1\.0\.0\.tgz)?$/.exec(url)?.[1] ?? ''
    const found = published.get(name)
    if (!found) return void response.writeHead(404).end('{}')
    if (url.endsWith('.tgz')) return void response.end(found.bytes)
    const integrity = `sha512-${createHash('sha512').update(found.bytes).digest('base64')}`
    const dist = { tarball: `http://${headers.host}/${name}-1.0.0.tgz`, integrity }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        name,
        'dist-tags': { latest: '1.0.0' },
        versions: { '1.0.0': { ...found.packageJson, dist } },
      }),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The registry has no port.')
  let count = 0
  return {
    url: `http://127.0.0.1:${address.port}/`,
    async publish({ name, packageJson: more, files = {}, tar = [] }) {
      count += 1
      const source = join(folder, 'published', String(count))
      const packageJson = { name, version: '1.0.0', bin: 'index.js', ...more }
      const all = { 'package.json': JSON.stringify(packageJson), ...files }
      for (const [file, text] of Object.entries(all)) {
        mkdirSync(dirname(join(source, 'package', file)), { recursive: true })
        writeFileSync(join(source, 'package', file), text)
      }
      await expectProgram(['tar', '-czPf', 'out.tgz', ...tar, 'package'], { cwd: source, env: process.env })
      published.set(name, { packageJson, bytes: readFileSync(join(source, 'out.tgz')) })
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
