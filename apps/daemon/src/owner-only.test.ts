import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestDaemon } from './daemon.testing.ts'
import { exitCodeOf } from './exit-code.ts'
import { replaceOwnFile, storageError, writeSecretFile } from './owner-only.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-own-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('a secret is written where only its owner can read it, and differs with every start', async () => {
  const first = await startTestDaemon({ dataDirectory: folder })
  await first.close()
  const second = await startTestDaemon({ dataDirectory: folder })

  expect(statSync(second.tokenFile).mode & 0o777).toBe(0o600)
  expect(second.token).not.toBe(first.token)
  expect(second.token).toHaveLength(43)
  await second.close()
})

test.each([
  ['a token that others can read', () => chmodSync(plantToken(), 0o644), 'could be read by other users'],
  ['a link in its place', plantLink, 'is a link'],
  ['a folder that others can enter', () => chmodSync(makeRun(), 0o755), 'is open to other users'],
  ['a data directory that others can write to', () => chmodSync(folder, 0o777), 'is open to other users'],
  ['a file instead of the folder', () => writeFileSync(join(folder, 'run'), ''), 'Cannot make'],
])('the daemon does not start with %s', async (_, arrange, message) => {
  arrange()

  await expect(startTestDaemon({ dataDirectory: folder })).rejects.toMatchObject({
    code: expect.stringMatching(/^STORAGE_(UNSAFE|FAILED)$/),
    message: expect.stringContaining(message),
    hint: expect.stringMatching(/\S/),
  })
})

test('what a link points to is left alone', async () => {
  const victim = join(folder, 'victim')
  writeFileSync(victim, 'precious', { mode: 0o600 })
  symlinkSync(victim, join(folder, 'token'))

  await expect(writeSecretFile(join(folder, 'token'), 'secret')).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
  expect(readFileSync(victim, 'utf8')).toBe('precious')
})

test('a file is replaced whole, also where a crash has left a part of the last attempt', async () => {
  const file = join(folder, 'devices.json')
  writeFileSync(file, 'old')
  writeFileSync(`${file}.new`, 'half of someth')
  await replaceOwnFile(file, 'new')

  expect(readFileSync(file, 'utf8')).toBe('new')
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

function makeRun(): string {
  const run = join(folder, 'run')
  mkdirSync(run, { mode: 0o700 })
  return run
}

function plantToken(): string {
  const file = join(makeRun(), 'token')
  writeFileSync(file, 'known', { mode: 0o600 })
  return file
}

function plantLink(): void {
  const target = join(folder, 'elsewhere')
  writeFileSync(target, 'x', { mode: 0o600 })
  symlinkSync(target, join(makeRun(), 'token'))
}

test('a secret that cannot be written is a matter of the disk, and names its file', async () => {
  const file = join(folder, 'token')
  mkdirSync(file, { mode: 0o700 })

  await expect(writeSecretFile(file, 'secret')).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: expect.stringContaining(file),
  })
})

test('a full disk is told apart from a broken one', () => {
  const full = storageError(Object.assign(new Error('no'), { code: 'ENOSPC' }), 'Could not write x')
  const broken = storageError(Object.assign(new Error('no'), { code: 'EIO' }), 'Could not write x')

  expect([full.code, full.message, exitCodeOf(full.code)]).toEqual(['STORAGE_FULL', 'Could not write x (ENOSPC).', 6])
  expect(broken.code).toBe('STORAGE_FAILED')
})
