import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, describe, expect, test } from 'vitest'
import { root } from '../src/root.ts'
import { mustRun, runCommand } from './command.ts'
import { packAll } from './packed-package.ts'
import { programs, settle, typeCheck, writeManifests } from './stranger.ts'

const tarballs = mkdtempSync(join(tmpdir(), 'matrix-tarballs-'))
const stranger = mkdtempSync(join(tmpdir(), 'matrix-stranger-'))
afterAll(() => {
  for (const folder of [tarballs, stranger]) rmSync(folder, { recursive: true })
  // The model SDKs are thousands of files.
}, 120_000)

// Before the tests are known, since there is one for everything the packages turn out to offer.
const packages = await packAll(tarballs)
await settle(stranger, packages)
const compilation = await typeCheck(stranger)

describe.each(packages)('$name', ({ tarball, files, manifest, text, entries, commands }) => {
  test('is an ES module with a description, a licence and the oldest Node it runs on', () => {
    expect(manifest).toMatchObject({
      description: expect.stringMatching(/\S.*\.$/),
      license: 'MIT',
      type: 'module',
      engines: { node: '>=20.19' },
    })
  })

  test('says nothing that only this workspace understands', () => {
    expect(text).not.toMatch(/"(workspace|catalog|link|file):/)
  })

  test('carries its README and the licence, and neither sources nor tests', () => {
    const unwanted = /(^|\/)(src|fixtures|node_modules)\/|\.test\.|\.tsbuildinfo$|test-results/

    expect(files).toEqual(expect.arrayContaining(['package.json', 'README.md', 'LICENSE']))
    // The sample repository is there to be worked on, sources and tests included.
    const own = files.filter((file) => !/^(?:dist\/)?sample\//.test(file))
    expect(own.filter((file) => unwanted.test(file))).toEqual([])
  })

  test('holds every file its exports and commands name, and types for all code', () => {
    const promised = [
      ...entries.flatMap(({ file, types = file }) => [file, types]),
      ...Object.values(manifest.bin ?? {}),
    ]

    expect(promised.length).toBeGreaterThan(0)
    expect(promised.filter((file) => !files.includes(file.replace('./', '')))).toEqual([])
    expect(entries.filter(({ isCode, types }) => isCode && !types)).toEqual([])
  })

  test('publint has nothing to say', async () => {
    const { buffer, byteOffset, byteLength } = readFileSync(tarball)
    const pack = { tarball: buffer.slice(byteOffset, byteOffset + byteLength) }
    const { messages } = await publint({ pack, strict: true })

    expect(messages.map((message) => formatMessage(message, manifest, { color: false }))).toEqual([])
  })

  // attw refuses a package that has commands and nothing to import.
  const importable = entries.some(({ isCode }) => isCode)
  test.each(importable ? [tarball] : [])('attw finds the right types for every import', async () => {
    const attw = join(root, 'tooling/repository/node_modules/.bin/attw')
    const args = [tarball, '--profile', 'esm-only', '--no-emoji', '--no-color']

    expect(await runCommand(attw, args, tarballs)).toEqual({ code: 0, output: expect.stringContaining('OK (ESM)') })
  })

  test.each(entries)('$specifier can be imported', async ({ specifier, isCode }) => {
    const attributes = isCode ? '' : ", { with: { type: 'json' } }"
    const program = `console.log(Object.keys(await import('${specifier}'${attributes})).length)`
    const printed = await mustRun('node', ['--no-warnings', '--input-type=module', '-e', program], stranger)

    expect(Number(printed)).toBeGreaterThan(0)
  })

  test.each(commands)('the command %s says the version that was packed', async (command) => {
    const printed = await mustRun(join(stranger, 'node_modules/.bin', command), ['--version'], stranger)

    expect(printed).toContain(manifest.version)
  })
})

test('strict TypeScript accepts what a stranger writes against the packages', () => {
  expect(compilation).toEqual({ code: 0, output: '' })
})

test.each(programs)('the program %s does what its author expects', async (program) => {
  const built = join('built', program.replace('.ts', '.js'))

  expect(await runCommand('node', [built], stranger)).toEqual({ code: 0, output: '' })
})

test.each(['matrix', 'mxd'])('%s accepts a good manifest and refuses a bad one', async (command) => {
  const { good, bad } = writeManifests(stranger)
  const verify = (file: string) =>
    runCommand(join(stranger, 'node_modules/.bin', command), ['verify', '--offline', file], stranger)

  expect(await verify(good)).toMatchObject({ code: 0 })
  expect(await verify(bad)).toMatchObject({ code: 1, output: expect.stringContaining('allowed_side_effects') })
})
