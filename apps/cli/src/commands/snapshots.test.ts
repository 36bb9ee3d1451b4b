import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openWorktrees, type Snapshot } from '@matrix/task-tree'
import { type ScratchRepository, scratchRepository } from '@matrix/task-tree/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { matrix } from '../matrix-process.testing.ts'

const taskId = '01KMAB00000000000000000001'
let scratch: ScratchRepository
let snapshot: Snapshot
const home = process.env.HOME

beforeEach(async () => {
  scratch = await scratchRepository({ name: 'it\'s a "repo"', branch: 'main' })
  process.env.HOME = scratch.home
  const worktrees = await openWorktrees({ repository: scratch.checkout, directory: scratch.worktrees })
  const { path } = await worktrees.create({ taskId, title: 'Parse dates', baseBranch: 'main' })
  writeFileSync(join(path, 'new \u001b[31mfile'), 'work\n')
  await worktrees.snapshot(taskId, 'before lunch').then((taken) => {
    if (taken) snapshot = taken
  })
})
afterEach(async () => {
  process.env.HOME = home
  await scratch.remove()
})

test("a snapshot is listed, shown and restored, and the user's checkout stays as it is", async () => {
  const before = await scratch.fingerprint()
  const list = await snapshots('list')
  expect(list.stdout).toContain(snapshot.name)
  expect(list.stdout).toContain('before lunch')

  const show = await snapshots('show', snapshot.name.slice(0, 20))
  expect(show.stdout).toContain(`commit  ${snapshot.commit}`)
  expect(show.stdout).toMatch(/^A {2}new .*file {2}\+1 -0$/m)
  expect(show.stdout).not.toContain('\u001b')

  const folder = join(scratch.home, 'rescued; touch gone')
  expect(await snapshots('restore', snapshot.name, folder)).toMatchObject({ code: 0 })
  expect(readFileSync(join(folder, 'new \u001b[31mfile'), 'utf8')).toBe('work\n')
  expect(readFileSync(join(folder, 'readme.md'), 'utf8')).toBe('hello\n')
  expect(await scratch.fingerprint()).toBe(before)
})

test('a snapshot of work that was committed says where to look for it', async () => {
  const worktrees = await openWorktrees({ repository: scratch.checkout, directory: scratch.worktrees })
  const { commit } = await worktrees.commit({ taskId, message: 'feat: dates' })
  await worktrees.remove({ taskId, deleteBranch: true, baseBranch: 'main' })
  const taken = (await worktrees.snapshots()).find(({ name }) => name !== snapshot.name)
  const show = await snapshots('show', taken?.name ?? '')

  expect(show.stdout).toContain(`git log -p ${commit}`)
})

test('programs get each as one document', async () => {
  expect(JSON.parse((await snapshots('list', '--json')).stdout)).toEqual([snapshot])
  expect(JSON.parse((await snapshots('list', '--json', '--task', taskId.slice(0, 8))).stdout)).toEqual([snapshot])
  expect(JSON.parse((await snapshots('list', '--json', '--task', '01ZZ')).stdout)).toEqual([])
  expect(JSON.parse((await snapshots('show', snapshot.name.toLowerCase(), '--json')).stdout)).toMatchObject({
    ...snapshot,
    files: [{ path: 'new \u001b[31mfile', status: 'added' }],
  })
  const folder = join(scratch.home, 'rescued')
  expect(JSON.parse((await snapshots('restore', snapshot.name, folder, '--json')).stdout)).toEqual({
    ...snapshot,
    folder,
  })
})

test('what cannot be done says why and what to do, and changes nothing', async () => {
  expect(await snapshots('show', '01ZZZZZZZZ')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('No snapshot 01ZZZZZZZZ'),
  })
  expect(await snapshots('show', 'HEAD')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('No snapshot HEAD'),
  })
  expect(await snapshots('restore', snapshot.name, scratch.checkout)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Name a folder that does not exist yet.'),
  })
  expect(await matrix(['snapshots', 'list', '-C', scratch.home])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is not a git repository'),
  })
  expect(await matrix(['snapshots', 'lst'])).toMatchObject({ code: 2, stderr: expect.stringContaining('list') })
})

const snapshots = (...args: string[]) => matrix(['snapshots', ...args, '-C', scratch.checkout])
