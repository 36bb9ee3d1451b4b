import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { digestBytes, type Lock } from '@matrix/manifest'
import { expect, onTestFinished, test } from 'vitest'
import { openPackageStore } from './package-store.ts'
import { openSandbox } from './sandbox/sandbox.ts'
import {
  bootHarness,
  lockOf,
  manifestOf,
  scriptedServer,
  surface,
  temporaryFolder,
  textOf,
} from './scripted-server.testing.ts'
import { pinServer } from './server-pin.ts'
import { openServerPool } from './server-pool.ts'

const script = readFileSync(fileURLToPath(new URL('../fixtures/scripted-server.mjs', import.meta.url)), 'utf8')
const sandbox = await openSandbox({ mode: 'required' })

test('a server that loads a file beside its own runs as it was locked', async () => {
  const server = await locked()

  expect(textOf(await server.call())).toBe('as ever')
})

const changes: Record<string, [string, (folder: string) => void]> = {
  edited: ['lib.mjs was changed', (folder) => writeFileSync(join(folder, 'lib.mjs'), 'export const a = 2')],
  'edited, with its old time and length': [
    'lib.mjs was changed',
    (folder) => {
      writeFileSync(join(folder, 'lib.mjs'), 'export const a = 2')
      utimesSync(join(folder, 'lib.mjs'), 1, 1)
    },
  ],
  removed: ['lib.mjs is gone', (folder) => rmSync(join(folder, 'lib.mjs'))],
  'replaced by a link': [
    'lib.mjs was replaced by a link',
    (folder) => {
      renameSync(join(folder, 'lib.mjs'), join(folder, '../other.mjs'))
      symlinkSync('../other.mjs', join(folder, 'lib.mjs'))
    },
  ],
  'put in a folder below': ['sub/deep.mjs was changed', (folder) => writeFileSync(join(folder, 'sub/deep.mjs'), '1')],
  'put in a dependency': [
    'node_modules/dep/index.js was changed',
    (folder) => writeFileSync(join(folder, 'node_modules/dep/index.js'), '1'),
  ],
  'added where Node would look first': [
    'node_modules/dep/package.json was added',
    (folder) => writeFileSync(join(folder, 'node_modules/dep/package.json'), '{"main":"evil.js"}'),
  ],
  'put in the settings of its package': [
    'package.json was changed',
    (folder) => writeFileSync(join(folder, 'package.json'), '{"type":"module","imports":{"#a":"./evil.mjs"}}'),
  ],
}

test.each(Object.entries(changes))(
  'what lies beside a file server is %s: it is refused and named',
  async (_, [words, change]) => {
    const server = await locked()
    await server.call()
    change(server.folder)

    expect(await server.call()).toMatchObject({ isError: true, error: { code: 'PACKAGE_MISMATCH' } })
    expect((await server.call()).error?.message).toContain(words)
  },
)

test('the history of a repository and the lock itself are no part of it', async () => {
  const server = await locked()
  mkdirSync(join(server.folder, '.git'))
  for (const name of ['.git/index', 'agent.lock.json', 'agent.lock.dependencies.json'])
    writeFileSync(join(server.folder, name), '{}')

  expect(textOf(await server.call())).toBe('as ever')
})

test('a lock from another machine holds here, and names no file that it never saw', async () => {
  const server = await locked()
  writeFileSync(join(server.folder, 'lib.mjs'), 'export const a = 3')

  expect((await server.call({ store: temporaryFolder() })).error?.message).toMatch(
    /does not hold the files that were approved\.$/,
  )
})

test('a program without a shebang in a folder of programs is pinned by itself', async () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin/native'), 'ELF', { mode: 0o755 })
  writeFileSync(join(folder, 'bin/script'), '#!/bin/sh', { mode: 0o755 })
  const { loadsBeside } = await import('./loaded-files.ts')

  expect(await Promise.all(['bin/native', 'bin/script'].map((name) => loadsBeside(join(folder, name))))).toEqual([
    false,
    true,
  ])
  expect(await loadsBeside('/usr/bin/env')).toBe(false)
})

/** A server in a package of its own, pinned as `matrix lock` does it. */
async function locked() {
  const [folder, store] = [join(temporaryFolder(), 'server'), temporaryFolder()]
  const files = {
    'package.json': '{"type":"module"}',
    'server.mjs': `import './lib.mjs'\n${script}`,
    'lib.mjs': 'export const a = 1',
    'sub/deep.mjs': 'export const b = 1',
    'node_modules/dep/index.js': 'module.exports = 1',
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  chmodSync(dirname(folder), 0o755)
  const { args = [], ...rest } = scriptedServer()
  const draft = {
    ...rest,
    args: [join(folder, 'server.mjs'), ...args.slice(1)],
    package_digest: digestBytes(Buffer.from(files['server.mjs'])),
  }
  const emptyFolder = temporaryFolder()
  chmodSync(emptyFolder, 0o777)
  const around = { sandbox, store: openPackageStore(store, { offline: true }) }
  const pool = openServerPool({ ...around, bootstrap: true })
  onTestFinished(() => pool.close())
  const { server, resolved } = await pinServer(draft, { ...around, pool, emptyFolder })
  if (resolved.transport !== 'stdio' || server.transport !== 'stdio') throw new Error('it is a program')
  const manifest = manifestOf([server])
  const tools = server.tools.map(({ name }) => surface(name))
  const base = lockOf(manifest, { scripted: tools })
  const lock = { ...base, servers: { scripted: { ...base.servers.scripted, package: resolved.package } } } as Lock
  const call = async (how: { store?: string } = {}) => {
    const harness = await bootHarness({
      manifest,
      lock,
      worktree: emptyFolder,
      poolOptions: { sandbox, store: openPackageStore(how.store ?? store, { offline: true }) },
    })
    return harness.call('echo', { value: 'as ever' })
  }
  return { folder, call }
}
