import { rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readBranch } from './branch-files.ts'
import { nodeDisk } from './disk.ts'
import type { Repository } from './repository.ts'
import { type ScratchRepository, scratchRepository } from './scratch-repository.ts'

const own = 'mxd/01KMAB00000000000000000001'
let scratch: ScratchRepository
let repository: Repository
let first = ''
beforeEach(async () => {
  scratch = await scratchRepository()
  repository = (await scratch.open()).repository
  first = scratch.git('rev-parse', 'trunk')
})
afterEach(() => scratch.remove())

const read = (name: string, of = repository) => readBranch(nodeDisk, of, name, { without: own })

test('a branch is where git says it is, whichever way git keeps it', async () => {
  scratch.git('branch', 'feature/a')
  scratch.git('branch', 'feature/a-longer-name')
  expect([await read('trunk'), await read('feature/a')]).toEqual([first, first])

  scratch.git('pack-refs', '--all')
  expect([await read('trunk'), await read('feature/a')]).toEqual([first, first])

  // Now both a packed and a newer place are known.
  const second = scratch.commit('second')
  expect([await read('trunk'), await read('feature/a')]).toEqual([second, first])
})

test('where the files do not say it plainly there is no answer', async () => {
  scratch.git('symbolic-ref', 'refs/heads/other', 'refs/heads/trunk')
  scratch.git('branch', 'linked')
  scratch.git('pack-refs', '--all')
  scratch.commit('second')
  await symlink('trunk', join(scratch.checkout, '.git/refs/heads/linked'))

  for (const name of ['unknown', 'trun', 'other', 'linked', 'feature']) expect(await read(name), name).toBeUndefined()
  expect(await read('trunk', { ...repository, refFormat: 'reftable' })).toBeUndefined()
})

test('there is no answer where the task has a branch already, packed or not', async () => {
  scratch.git('branch', `${own}/some-title`)
  expect(await read('trunk')).toBeUndefined()

  scratch.git('pack-refs', '--all')
  await rm(join(scratch.checkout, '.git/refs/heads/mxd'), { recursive: true, force: true })
  expect(await read('trunk')).toBeUndefined()

  scratch.git('branch', '-D', `${own}/some-title`)
  await rm(join(scratch.checkout, '.git/refs/heads/mxd'), { recursive: true, force: true })
  expect(await read('trunk')).toBe(first)
})
