import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deflateRawSync } from 'node:zlib'
import { digestBytes } from '@matrix/manifest'
import { expect, test } from 'vitest'
import { openPackageStore } from './package-store.ts'
import { bootHarness, scriptedServer, temporaryFolder, textOf } from './scripted-server.testing.ts'
import { readZip } from './zip-archive.ts'

const script = readFileSync(fileURLToPath(new URL('../fixtures/scripted-server.mjs', import.meta.url)), 'utf8')
const manifest = (more: object = {}) =>
  JSON.stringify({
    manifest_version: '0.3',
    name: 'b',
    version: '1.0.0',
    server: { type: 'node', entry_point: 'server/index.mjs', ...more },
  })

test('a bundle runs from the store, by the digest of its file', async () => {
  const server = bundled({ 'manifest.json': manifest(), 'server/index.mjs': script })
  const { call } = await bootHarness({ servers: [server] })

  expect(textOf(await call('echo', { value: 'from a bundle' }))).toBe('from a bundle')
})

test('other bytes than the pinned ones are refused', async () => {
  const server = bundled({ 'manifest.json': manifest(), 'server/index.mjs': script })
  writeFileSync(server.command, Buffer.concat([readFileSync(server.command), Buffer.from(' ')]))
  const { call } = await bootHarness({ servers: [server] })

  expect(await call('echo')).toMatchObject({ error: { code: 'PACKAGE_MISMATCH' } })
})

test('a file of an unpacked bundle that was edited or added is refused', async () => {
  const server = bundled({ 'manifest.json': manifest(), 'server/index.mjs': script })
  const store = openPackageStore(temporaryFolder(), { offline: true })
  const folder = join(store.folder, 'sha256', server.package_digest.slice('sha256:'.length))
  const call = async () => (await bootHarness({ servers: [server], poolOptions: { store } })).call('echo', { value: 1 })
  expect((await call()).isError).toBe(false)
  for (const name of ['server/index.mjs', 'server/package.json']) {
    writeFileSync(join(folder, name), `${script}\n`)
    expect(await call()).toMatchObject({
      error: { code: 'PACKAGE_MISMATCH', message: expect.stringContaining(name) },
    })
    rmSync(folder, { recursive: true })
    expect((await call()).isError).toBe(false)
  }
})

test('a bundle that wants settings is not started without them', async () => {
  const wants = { mcp_config: { command: 'node', args: ['${__dirname}/server/index.mjs', '${user_config.key}'] } }
  const { call } = await bootHarness({
    servers: [bundled({ 'manifest.json': manifest(wants), 'server/index.mjs': script })],
  })

  expect(await call('echo')).toMatchObject({ error: { code: 'PACKAGE_UNVERIFIABLE' } })
})

test.each(['../out.txt', '/etc/passwd', 'a/../../b', 'a\\b', 'C:x', '.'])(
  'a file called %s leads out and is refused',
  (path) => {
    expect(() => readZip(zip({ [path]: 'x' }))).toThrow(expect.objectContaining({ code: 'PACKAGE_UNVERIFIABLE' }))
  },
)

test('a link, a bomb, two files of one name and what is no archive are refused', () => {
  const refused = expect.objectContaining({ code: 'PACKAGE_UNVERIFIABLE' })

  expect(() => readZip(zip({ link: '/etc' }, { mode: 0o120777 }))).toThrow(refused)
  expect(() => readZip(zip({ bomb: 'x'.repeat(1 << 20) }, { claimedSize: 10 }))).toThrow(refused)
  expect(() => readZip(zip({ a: '1', A: '2' }))).toThrow(refused)
  expect(() => readZip(Buffer.alloc(100))).toThrow(refused)
})

function bundled(files: Record<string, string>) {
  const file = join(temporaryFolder(), 'server.mcpb')
  const bytes = zip(files)
  writeFileSync(file, bytes)
  const { args = [], ...server } = scriptedServer()
  return { ...server, command: file, args: args.slice(1), package_digest: digestBytes(bytes) }
}

/** As small as an archive can be. */
function zip(files: Record<string, string>, { mode = 0o100644, claimedSize = -1 } = {}): Buffer {
  const locals: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  for (const [path, text] of Object.entries(files)) {
    const packed = deflateRawSync(Buffer.from(text))
    const name = Buffer.from(path)
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(name.length, 26)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(8, 10)
    entry.writeUInt32LE(packed.length, 20)
    entry.writeUInt32LE(claimedSize >= 0 ? claimedSize : Buffer.byteLength(text), 24)
    entry.writeUInt16LE(name.length, 28)
    entry.writeUInt32LE((mode << 16) >>> 0, 38)
    entry.writeUInt32LE(offset, 42)
    locals.push(local, name, packed)
    central.push(entry, name)
    offset += local.length + name.length + packed.length
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, ...central, end])
}
