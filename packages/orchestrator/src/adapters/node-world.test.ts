import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nodeWorld } from './node-world.ts'

const { files, newId, env } = nodeWorld()
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'matrix-world-'))
})

afterEach(() => rm(folder, { recursive: true }))

test('what is written is read back, in folders that are made on the way', async () => {
  const path = join(folder, 'a', 'b', 'c.json')
  await files.write(path, '{"ü": 1}')

  expect(await files.read(path)).toBe('{"ü": 1}')
  expect(await files.isDirectory(join(folder, 'a', 'b'))).toBe(true)
  expect(await files.isDirectory(path)).toBe(false)
})

test('a file and the folders made for it are for their owner alone, whatever was there before', async () => {
  const path = join(folder, 'made', 'secret.json')
  await files.write(path, '1')
  await writeFile(join(folder, 'open.json'), '1', { mode: 0o644 })
  await files.write(join(folder, 'open.json'), '2')

  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await stat(join(folder, 'made'))).mode & 0o777).toBe(0o700)
  expect((await stat(join(folder, 'open.json'))).mode & 0o777).toBe(0o600)
})

test('a write leaves nothing but the file, also when many come at once', async () => {
  const path = join(folder, 'x.json')
  const texts = Array.from({ length: 20 }, (_, index) => `${index} `.repeat(1_000))
  await Promise.all(texts.map((text) => files.write(path, text)))

  expect(await readdir(folder)).toEqual(['x.json'])
  expect(texts).toContain(await readFile(path, 'utf8'))
})

test('a link is replaced and not written through', async () => {
  await writeFile(join(folder, 'victim'), 'untouched')
  await symlink(join(folder, 'victim'), join(folder, 'link'))
  await files.write(join(folder, 'link'), 'new')

  expect(await readFile(join(folder, 'victim'), 'utf8')).toBe('untouched')
})

test('what lies in a folder of somebody else is not read through a link that leads out of it', async () => {
  const secret = join(folder, 'secret')
  const inside = join(folder, 'worktree')
  await mkdir(join(inside, '.mxd'), { recursive: true })
  await mkdir(join(folder, 'elsewhere'))
  await writeFile(secret, 'mine')
  await writeFile(join(folder, 'elsewhere', 'memory.md'), 'mine')
  await symlink(secret, join(inside, '.mxd', 'memory.md'))
  await symlink(join(folder, 'elsewhere'), join(inside, 'linked'))
  await symlink('../elsewhere/memory.md', join(inside, 'relative.md'))

  for (const name of ['.mxd/memory.md', 'linked/memory.md', 'relative.md'])
    await expect(files.read(join(inside, name), { inside })).rejects.toMatchObject({ code: 'DOCUMENT_UNREADABLE' })
})

test('a link that stays in its folder is followed, and one that leads nowhere is no file', async () => {
  await writeFile(join(folder, 'AGENTS.md'), 'ours')
  await symlink('AGENTS.md', join(folder, 'memory.md'))
  await symlink('nothing', join(folder, 'dangling.md'))

  expect(await files.read(join(folder, 'memory.md'), { inside: folder })).toBe('ours')
  expect(await files.read(join(folder, 'AGENTS.md'), { inside: folder })).toBe('ours')
  expect(await files.read(join(folder, 'dangling.md'), { inside: folder })).toBeUndefined()
  expect(await files.read(join(folder, 'nothing.md'), { inside: folder })).toBeUndefined()
})

test('a file that is not there is undefined, also below something that is no folder', async () => {
  await writeFile(join(folder, 'file'), '')

  expect(await files.read(join(folder, 'nothing'))).toBeUndefined()
  expect(await files.read(join(folder, 'file', 'nothing'))).toBeUndefined()
  expect(await files.isDirectory(join(folder, 'nothing'))).toBe(false)
})

test('what is not a regular file is refused at once', async () => {
  const pipe = join(folder, 'pipe')
  execFileSync('sh', ['-c', 'mkfifo "$0"', pipe])

  for (const path of [pipe, folder, '/dev/zero'])
    await expect(files.read(path)).rejects.toMatchObject({ code: 'DOCUMENT_UNREADABLE' })
})

test('a file that cannot be opened is named with the reason', async () => {
  const path = join(folder, 'circle')
  await symlink(path, path)

  await expect(files.read(path)).rejects.toMatchObject({
    code: 'DOCUMENT_UNREADABLE',
    message: `${path} cannot be read (ELOOP).`,
  })
})

test('a file that is far too large is refused without being read', async () => {
  const path = join(folder, 'large')
  await writeFile(path, '')
  await truncate(path, 10 * 1024 ** 3)

  await expect(files.read(path)).rejects.toMatchObject({ code: 'DOCUMENT_TOO_LARGE' })
})

test('where nothing can be written, the path is named and the old file stays', async () => {
  await writeFile(join(folder, 'file'), 'old')

  await expect(files.write(join(folder, 'file', 'x'), 'new')).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: expect.stringContaining(join(folder, 'file', 'x')),
  })
  expect(await readdir(folder)).toEqual(['file'])
})

test('ids are ULIDs, and the environment is that of the process', () => {
  expect(newId()).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/)
  expect(env('PATH')).toBe(process.env.PATH)
})
