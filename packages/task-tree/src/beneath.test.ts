import { mkdir, mkdtemp, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { beneath } from './beneath.ts'

let base: string
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'beneath-'))
  await mkdir(join(base, 'work/a/b'), { recursive: true })
  await mkdir(join(base, 'home/b'), { recursive: true })
  await writeFile(join(base, 'work/a/b/file'), 'of the agent')
  await writeFile(join(base, 'home/b/file'), 'of the user')
})
afterEach(() => rm(base, { recursive: true }))

const work = () => join(base, 'work')

test('a file below a folder is reached, and one that is not there is nothing', async () => {
  expect(await beneath(work(), 'a/b/file', (path) => readFile(path, 'utf8'))).toBe('of the agent')
  expect(await beneath(work(), 'a/none/file', (path) => readFile(path, 'utf8'))).toBeUndefined()
})

test.runIf(process.platform === 'linux')('a link on the way leads nowhere', async () => {
  await symlink(join(base, 'home'), join(work(), 'link'))

  expect(await beneath(work(), 'link/b/file', unlink)).toBeUndefined()
  expect(await readFile(join(base, 'home/b/file'), 'utf8')).toBe('of the user')
})

test.runIf(process.platform === 'linux')(
  'a folder that is swapped for a link after it was looked at leads nowhere',
  async () => {
    await beneath(work(), 'a/b/file', async (path) => {
      await rename(join(work(), 'a'), join(base, 'away'))
      await symlink(join(base, 'home'), join(work(), 'a'))
      await unlink(path)
    })

    expect(await readFile(join(base, 'home/b/file'), 'utf8')).toBe('of the user')
  },
)
