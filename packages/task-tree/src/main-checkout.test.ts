import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monotonicFactory } from 'ulid'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ScratchRepository, scratchRepository } from './scratch-repository.ts'

const newId = monotonicFactory()
const home = process.env.HOME
let scratch: ScratchRepository
beforeEach(async () => {
  scratch = await scratchRepository()
  // Merges are committed in the user's name, which a submodule and a clone have from the home alone.
  process.env.HOME = scratch.home
})
afterEach(async () => {
  process.env.HOME = home
  await scratch.remove()
})

test('a merge into the checkout of a submodule writes there, and never into its git directory', async () => {
  const whole = join(scratch.home, 'whole')
  scratch.gitIn(scratch.home, 'init', '--quiet', whole)
  scratch.gitIn(whole, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', scratch.checkout, 'part')

  await mergeInto(join(whole, 'part'), join(whole, '.git/modules/part'))
})

test('a merge into a checkout with its git directory elsewhere writes there, and never into that directory', async () => {
  const [checkout, gitDir] = [join(scratch.home, 'apart'), join(scratch.home, 'apart.git')]
  scratch.gitIn(scratch.home, 'clone', '--quiet', `--separate-git-dir=${gitDir}`, scratch.checkout, checkout)

  await mergeInto(checkout, gitDir)
})

test('a merge into a checkout that core.worktree names writes there, and not beside the git directory', async () => {
  const moved = join(scratch.home, 'moved')
  await mkdir(moved)
  scratch.git('config', 'core.worktree', moved)
  scratch.git('checkout', '--quiet', '--force')

  await mergeInto(moved, join(scratch.checkout, '.git'), join(scratch.checkout, '.git'))
  expect(existsSync(join(scratch.checkout, 'hooks'))).toBe(false)
})

test('a branch that is checked out where git does not say is merged nowhere, and the words tell what to do', async () => {
  const [checkout, gitDir, own] = [
    join(scratch.home, 'apart'),
    join(scratch.home, 'apart.git'),
    join(scratch.home, 'own'),
  ]
  scratch.gitIn(scratch.home, 'clone', '--quiet', `--separate-git-dir=${gitDir}`, scratch.checkout, checkout)
  scratch.gitIn(checkout, 'worktree', 'add', '--quiet', '-b', 'side', own)
  const before = scratch.gitIn(checkout, 'rev-parse', 'trunk')

  await expect(mergeInto(checkout, gitDir, own)).rejects.toMatchObject({
    code: 'BRANCH_CHECKED_OUT',
    message: expect.stringContaining(gitDir),
    hint: expect.stringContaining('git merge'),
  })
  expect(scratch.gitIn(checkout, 'rev-parse', 'trunk')).toBe(before)
  expect(existsSync(join(gitDir, 'hooks/post-commit'))).toBe(false)
})

/** The work of an agent whose files have the names that a git directory uses. */
async function mergeInto(checkout: string, gitDir: string, repository = checkout): Promise<void> {
  const worktrees = await scratch.open({ repository })
  const { path, branch } = await worktrees.create({ taskId: newId(), title: 'x', baseBranch: 'trunk' })
  await mkdir(join(path, 'hooks'))
  await writeFile(join(path, 'hooks/post-commit'), '#!/bin/sh\n', { mode: 0o755 })
  scratch.gitIn(path, 'add', '--all')
  scratch.gitIn(path, 'commit', '--quiet', '-m', 'work')

  expect(await worktrees.merge({ branch, baseBranch: 'trunk', how: 'merge', updateCheckout: true })).toMatchObject({
    outcome: 'merged',
  })
  expect(await readFile(join(checkout, 'hooks/post-commit'), 'utf8')).toBe('#!/bin/sh\n')
  expect(existsSync(join(gitDir, 'hooks/post-commit'))).toBe(false)
  expect(scratch.gitIn(checkout, `--git-dir=${gitDir}`, '--work-tree=.', 'status', '--short')).toBe('')
}
