import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { monotonicFactory } from 'ulid'
import { afterEach, beforeEach, expect, test } from 'vitest'
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
  await scratch.write('package.json', '{ "scripts": { "test": "vitest" } }\n')
  await scratch.write('tools/run.sh', 'echo\n')
  scratch.commit('more')
  await begin()
})
afterEach(() => scratch.remove())

async function begin(): Promise<void> {
  worktrees = await scratch.open()
  task = await worktrees.create({ taskId: newId(), title: 'Dates', baseBranch: 'trunk' })
}

async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(join(task.path, path)), { recursive: true })
  await writeFile(join(task.path, path), content)
}

async function flagged(
  options: { paths?: string[]; ignoreWhitespace?: boolean; since?: string } = {},
): Promise<string[]> {
  scratch.gitIn(task.path, 'add', '--all', '--force')
  scratch.gitIn(task.path, 'commit', '--quiet', '--allow-empty', '-m', 'work')
  const changes = await worktrees.changes({ branch: task.branch, baseBranch: 'trunk', ...options })
  return changes.flagged.map(({ path }) => path)
}

test('ordinary work has nothing flagged', async () => {
  await write('src/date.ts', 'export const day = 2\n')
  await write('package.json', '{ "scripts": { "test": "vitest" }, "dependencies": { "zod": "^4.0.0" } }\n')
  expect(await flagged()).toEqual([])
})

test('content, modes, links and submodules are read from the commits', async () => {
  await write('package.json', '{ "scripts": { "test": "vitest", "postinstall": "x" } }\n')
  await write('.envrc', 'x\n')
  await chmod(join(task.path, 'tools/run.sh'), 0o755)
  await symlink('../../..', join(task.path, 'src/out'))
  await symlink('date.ts', join(task.path, 'src/in'))
  scratch.gitIn(task.path, 'update-index', '--add', '--cacheinfo', `160000,${task.commit},vendor`)
  await mkdir(join(task.path, 'vendor'))
  scratch.gitIn(task.path, 'commit', '--quiet', '-m', 'submodule')
  expect(await flagged()).toEqual(expect.arrayContaining(['.envrc', 'package.json', 'src/out', 'tools/run.sh']))
  expect(await flagged()).not.toContain('src/in')
})

test('a file that gets its name by a rename is flagged by all of its content', async () => {
  await scratch.write('attributes.txt', '*.ts filter=x\n')
  scratch.commit('attributes')
  await begin()
  await rename(join(task.path, 'attributes.txt'), join(task.path, '.gitattributes'))
  expect(await flagged()).toEqual(['.gitattributes'])
})

test('what is flagged does not depend on which changes were asked for', async () => {
  await write('.envrc', 'x\n')
  const all = await flagged()
  const head = scratch.gitIn(task.path, 'rev-parse', 'HEAD')
  expect(all).toEqual(['.envrc'])
  for (const options of [{ paths: ['readme.md'] }, { ignoreWhitespace: true }, { since: head }])
    expect(await flagged(options), JSON.stringify(options)).toEqual(all)
})

test('a folder that core.hooksPath or a chain of links makes one of hooks is flagged', async () => {
  await mkdir(join(scratch.checkout, 'steps'))
  await symlink('steps', join(scratch.checkout, 'more'))
  await symlink('more', join(scratch.checkout, '.husky'))
  await scratch.write('steps/pre-commit', 'x\n')
  scratch.commit('links')
  scratch.git('config', 'core.hooksPath', 'tools/hooks')
  await begin()
  await write('steps/pre-commit', 'y\n')
  await write('tools/hooks/pre-push', 'y\n')
  expect(await flagged()).toEqual(['steps/pre-commit', 'tools/hooks/pre-push'])

  await rm(join(task.path, 'more'))
  await symlink('tools', join(task.path, 'more'))
  expect(await flagged()).toContain('more')
})

test('a file that the merge moves to another folder is flagged where it arrives', async () => {
  for (const name of ['a', 'b', 'c']) await scratch.write(`ci/${name}.yml`, `${name.repeat(40)}\n`)
  scratch.commit('ci')
  await begin()
  await write('ci/new.yml', 'x\n')
  await mkdir(join(scratch.checkout, '.github'))
  await rename(join(scratch.checkout, 'ci'), join(scratch.checkout, '.github/workflows'))
  scratch.commit('move')
  const arrived = (await flagged()).filter((path) => path.startsWith('.github/'))
  const { conflicts } = await worktrees.changes({ branch: task.branch, baseBranch: 'trunk' })
  // git either moves the file by itself or leaves the choice to a user as a conflict; it is never merged unseen.
  expect(arrived.length > 0 || conflicts.length > 0).toBe(true)
})

test('a merge by a user is refused until each flagged file of that commit is accepted', async () => {
  await write('.envrc', 'x\n')
  await write('.husky/pre-commit', 'x\n')
  await write('src/date.ts', 'export const day = 2\n')
  const paths = await flagged()
  const expectedHead = scratch.gitIn(task.path, 'rev-parse', 'HEAD')
  const merge = (options: { acceptFlagged?: string[]; expectedHead?: string }) =>
    worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'merge', updateCheckout: true, ...options })

  for (const options of [
    { acceptFlagged: [] },
    { acceptFlagged: paths },
    { acceptFlagged: ['.envrc'], expectedHead },
    { acceptFlagged: ['src/date.ts'], expectedHead },
  ])
    await expect(merge(options), JSON.stringify(options)).rejects.toMatchObject({
      code: 'MERGE_FLAGGED',
      message: expect.stringContaining('.husky/pre-commit'),
    })
  expect(scratch.git('rev-parse', 'trunk')).toBe(task.commit)
  expect(await merge({ acceptFlagged: paths, expectedHead })).toMatchObject({ outcome: 'merged' })
})

test('ordinary work is merged by a user without naming anything', async () => {
  await write('src/date.ts', 'export const day = 2\n')
  await flagged()
  const merge = { branch: task.branch, baseBranch: 'trunk', how: 'squash', updateCheckout: true } as const
  expect(await worktrees.merge({ ...merge, acceptFlagged: [] })).toMatchObject({ outcome: 'merged' })
})

test('a file that is too large to be read counts as changed', async () => {
  await write('package.json', `{ "scripts": { "test": "vitest" }, "x": "${'x'.repeat(9 * 1024 * 1024)}" }`)
  expect(await flagged()).toEqual(['package.json'])
})
