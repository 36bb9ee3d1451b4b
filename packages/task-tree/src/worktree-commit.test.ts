import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monotonicFactory } from 'ulid'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Disk, nodeDisk } from './disk.ts'
import { type ScratchRepository, scratchRepository } from './scratch-repository.ts'
import type { Worktree } from './worktree-creation.ts'
import type { Worktrees } from './worktrees.ts'

const newId = monotonicFactory()
let scratch: ScratchRepository
let worktrees: Worktrees
let task: Worktree
beforeEach(async () => {
  scratch = await scratchRepository()
  process.env.HOME = scratch.home
  worktrees = await scratch.open()
  task = await worktrees.create({ taskId: newId(), title: 'Dates', baseBranch: 'trunk' })
})
afterEach(() => scratch.remove())

const write = (path: string, text: string) => writeFile(join(task.path, path), text)
const read = (path: string) => readFile(join(task.path, path), 'utf8')
const status = () => scratch.git('-C', task.path, 'status', '--porcelain').trim()

test('what is new or changed and not ignored is committed on the branch of the task, in the name of the user', async () => {
  await write('.gitignore', 'dist\n')
  await write('dist', 'built')
  await write('readme.md', 'hello\nworld\n')
  expect(await worktrees.uncommitted(task.taskId)).toEqual(['.gitignore', 'readme.md'])
  const { commit, files } = await worktrees.commit({ taskId: task.taskId, message: 'docs: greet the world' })

  expect(files).toEqual(['.gitignore', 'readme.md'])
  expect(scratch.git('-C', task.path, 'log', '-1', '--format=%H %s %an')).toBe(`${commit} docs: greet the world Ada`)
  expect(status()).toBe('')
  expect(await worktrees.uncommitted(task.taskId)).toEqual([])
  expect(await worktrees.commit({ taskId: task.taskId, message: 'again' })).toEqual({ commit: undefined, files: [] })
})

test('the repository may lie on another disk than its worktrees', async () => {
  const isThere = (path: string) => path.startsWith(scratch.checkout)
  const rename: Disk['rename'] = async (from, to) => {
    if (isThere(from) !== isThere(to)) throw Object.assign(new Error(`EXDEV: rename ${from}`), { code: 'EXDEV' })
    await nodeDisk.rename(from, to)
  }
  worktrees = await scratch.open({ disk: { ...nodeDisk, rename } })
  task = await worktrees.create({ taskId: newId(), title: 'Elsewhere', baseBranch: 'trunk' })
  await write('new.md', 'new')

  expect((await worktrees.commit({ taskId: task.taskId, message: 'docs: new' })).files).toEqual(['new.md'])
  expect(status()).toBe('')
  await write('more.md', 'more')
  expect(await worktrees.remove({ taskId: task.taskId })).toEqual({ snapshot: expect.any(String) })
})

test('what a killed tool left half written is no part of the work', async () => {
  await write('.matrix-draft-0123456789abcdef', 'half of a fi')
  await write('new.md', 'whole')

  expect(await worktrees.uncommitted(task.taskId)).toEqual(['new.md'])
  expect((await worktrees.commit({ taskId: task.taskId, message: 'docs: new' })).files).toEqual(['new.md'])
  expect(await worktrees.uncommitted(task.taskId)).toEqual([])
})

test('what the base has gained is merged into the branch and its files', async () => {
  await write('mine.txt', 'mine\n')
  await worktrees.commit({ taskId: task.taskId, message: 'mine' })
  await scratch.write('theirs.txt', 'theirs\n')
  scratch.commit('theirs')

  expect(await worktrees.update({ taskId: task.taskId, from: 'trunk' })).toMatchObject({ outcome: 'merged' })
  expect(await read('theirs.txt')).toBe('theirs\n')
  expect(await read('mine.txt')).toBe('mine\n')
  expect(status()).toBe('')
  expect(await worktrees.update({ taskId: task.taskId, from: 'trunk' })).toEqual({ outcome: 'nothing to merge' })
})

test('a conflict stays in the files with markers, is not committed with them, and is a merge once they are gone', async () => {
  await write('readme.md', 'mine\n')
  const { commit } = await worktrees.commit({ taskId: task.taskId, message: 'mine' })
  await scratch.write('readme.md', 'theirs\n')
  scratch.commit('theirs')

  expect(await worktrees.update({ taskId: task.taskId, from: 'trunk' })).toEqual({
    outcome: 'conflict',
    files: ['readme.md'],
  })
  expect(await read('readme.md')).toMatch(/<{7} .*\nmine\n={7}\ntheirs\n>{7} /)
  await expect(worktrees.commit({ taskId: task.taskId, message: 'merge' })).rejects.toMatchObject({
    code: 'MERGE_REFUSED',
    message: 'Conflict markers are left in readme.md',
  })
  expect(await worktrees.update({ taskId: task.taskId, from: 'trunk' })).toEqual({
    outcome: 'conflict',
    files: ['readme.md'],
  })

  await write('readme.md', 'mine and theirs\n')
  const merged = await worktrees.commit({ taskId: task.taskId, message: 'merge' })
  const trunk = scratch.git('rev-parse', 'trunk').trim()
  expect(scratch.git('-C', task.path, 'log', '-1', '--format=%P').trim()).toBe(`${commit} ${trunk}`)
  expect(merged.files).toEqual(['readme.md'])
  expect(status()).toBe('')
  expect((await worktrees.changes({ branch: task.branch, baseBranch: 'trunk' })).conflicts).toEqual([])
})

test('nothing is merged over changes that are not committed', async () => {
  await write('readme.md', 'mine\n')
  await scratch.write('readme.md', 'theirs\n')
  scratch.commit('theirs')
  await expect(worktrees.update({ taskId: task.taskId, from: 'trunk' })).rejects.toMatchObject({
    code: 'WORKTREE_UNSAVED',
  })
  expect(await read('readme.md')).toBe('mine\n')
})

test('a commit or merge that is asked for again, because the answer was lost, is answered with the one that was made', async () => {
  const since = new Date()
  const { taskId, branch } = task
  await write('mine.txt', 'mine\n')
  const made = await worktrees.commit({ taskId, message: 'mine' })
  expect(await worktrees.commit({ taskId, message: 'mine', since })).toEqual(made)
  expect(await worktrees.commit({ taskId, message: 'other words', since })).toEqual({ commit: undefined, files: [] })
  const later = new Date(since.getTime() + 60_000)
  expect(await worktrees.commit({ taskId, message: 'mine', since: later })).toEqual({ commit: undefined, files: [] })

  const { branch: base } = await worktrees.create({ taskId: newId(), title: 'Above', baseBranch: 'trunk' })
  const merge = { branch, baseBranch: base, message: 'Merge it', updateCheckout: true }
  const merged = await worktrees.merge({ ...merge, how: 'merge' })
  expect(merged).toMatchObject({ outcome: 'merged' })
  expect(await worktrees.merge({ ...merge, how: 'merge', since })).toEqual(merged)
  expect(await worktrees.merge({ ...merge, how: 'merge' })).toEqual({ outcome: 'nothing to merge' })
})

test('a squash that is asked for again changes nothing', async () => {
  const since = new Date()
  const { branch: base } = await worktrees.create({ taskId: newId(), title: 'Above', baseBranch: 'trunk' })
  await write('mine.txt', 'mine\n')
  await worktrees.commit({ taskId: task.taskId, message: 'mine' })
  const squash = {
    branch: task.branch,
    baseBranch: base,
    how: 'squash',
    message: 'Take it',
    updateCheckout: true,
  } as const
  const merged = await worktrees.merge(squash)

  expect(await worktrees.merge({ ...squash, since })).toEqual(merged)
  expect(await worktrees.merge(squash)).toEqual({ outcome: 'nothing to merge' })
})
