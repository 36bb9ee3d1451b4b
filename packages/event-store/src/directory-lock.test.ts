import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { findHolder, lockDirectory } from './directory-lock.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'event-store-lock-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
})

test('a second one is told who holds the directory, and gets it after the first', async () => {
  const first = await lockDirectory(directory, { note: 'http://127.0.0.1:7433' })
  await expect(lockDirectory(directory)).rejects.toMatchObject({
    code: 'STORAGE_LOCKED',
    message: expect.stringMatching(new RegExp(`process ${process.pid} on .* \\(http://127.0.0.1:7433\\)`)),
  })
  await first.release()

  expect(existsSync(join(directory, 'lock.json'))).toBe(false)
  await (await lockDirectory(directory)).release()
})

test('a killed process frees its lock at once', async () => {
  const child = await startFixture('lock-holder.ts')
  await expect(lockDirectory(directory)).rejects.toMatchObject({
    code: 'STORAGE_LOCKED',
    message: expect.stringContaining(`process ${child.pid}`),
  })

  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  await (await lockDirectory(directory)).release()
})

test('a holder is known while the lock is held, whatever file was left behind', async () => {
  const before = [await findHolder(directory), await findHolder(join(directory, 'nowhere'))]
  const lock = await lockDirectory(directory, { note: 'daemon' })
  const during = await findHolder(directory)
  const left = await readFile(join(directory, 'lock.json'))
  await lock.release()
  await writeFile(join(directory, 'lock.json'), left)

  expect([...before, await findHolder(directory)]).toEqual([undefined, undefined, undefined])
  expect(during).toMatchObject({ pid: process.pid, host: hostname(), note: 'daemon' })
  await (await lockDirectory(directory)).release()
})

test('whoever only looks who holds the directory keeps nobody from getting it', async () => {
  await (await lockDirectory(directory)).release()
  const watcher = await startFixture('lock-watcher.ts')
  for (let n = 0; n < 300; n += 1) await (await lockDirectory(directory)).release()

  expect(watcher.exitCode).toBeNull()
})

test('a holder that cannot be written down names its file, and holds nothing', async () => {
  const obstacle = join(directory, 'lock.json.new')
  await mkdir(obstacle)
  await expect(lockDirectory(directory)).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: expect.stringContaining('lock.json'),
  })
  await rm(obstacle, { recursive: true })

  await (await lockDirectory(directory)).release()
})

test('a network file system is refused by name', async () => {
  await expect(lockDirectory(directory, { findNetwork: async () => 'NFS' })).rejects.toMatchObject({
    code: 'STORAGE_NETWORK',
    message: expect.stringContaining('NFS'),
  })
})

test('a directory that cannot be made is named', async () => {
  await writeFile(join(directory, 'file'), '')
  const below = join(directory, 'file', 'below')

  await expect(lockDirectory(below)).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: expect.stringContaining(below),
  })
})

/** Another process that has begun. */
async function startFixture(name: string) {
  const program = join(import.meta.dirname, '..', 'fixtures', name)
  const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), program, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await new Promise((resolve) => child.stdout.once('data', resolve))
  return child
}
