import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monotonicFactory } from 'ulid'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ScratchRepository, scratchRepository } from './scratch-repository.ts'
import type { Worktrees } from './worktrees.ts'

const newId = monotonicFactory()
const home = process.env.HOME
let scratch: ScratchRepository
beforeEach(async () => {
  scratch = await scratchRepository()
  process.env.HOME = scratch.home
})
afterEach(async () => {
  process.env.HOME = home
  await scratch.remove()
})

test('a folder that is no repository, and one that does not exist, are named', async () => {
  await mkdir(join(scratch.home, 'empty'))

  for (const name of ['empty', 'missing'])
    await expect(scratch.open({ repository: join(scratch.home, name) })).rejects.toMatchObject({
      code: 'REPOSITORY_UNUSABLE',
      message: expect.stringContaining(name),
    })
})

test('a repository without commits says that it needs one', async () => {
  const empty = join(scratch.home, 'empty')
  scratch.gitIn(scratch.home, 'init', '--quiet', '-b', 'trunk', empty)
  const worktrees = await scratch.open({ repository: empty })

  await expect(make(worktrees)).rejects.toMatchObject({
    code: 'REPOSITORY_UNUSABLE',
    hint: expect.stringContaining('first commit'),
  })
  expect(await worktrees.list()).toEqual([])
})

test('with a detached HEAD the stored base branch is used', async () => {
  const first = scratch.git('rev-parse', 'HEAD')
  await scratch.write('more', 'x')
  const second = scratch.commit('second')
  scratch.git('checkout', '--quiet', '--detach', first)
  const worktrees = await scratch.open()

  expect((await make(worktrees)).commit).toBe(second)
  await cycle(worktrees)
})

test('a bare repository works like one with a checkout', async () => {
  const bare = join(scratch.home, 'bare.git')
  scratch.gitIn(scratch.home, 'clone', '--quiet', '--bare', scratch.checkout, bare)
  const worktrees = await scratch.open({ repository: bare })

  expect(worktrees.repository.checkout).toBeUndefined()
  await cycle(worktrees)
  scratch.gitIn(bare, 'symbolic-ref', 'HEAD', 'refs/heads/other')
  await merged(worktrees)
})

test('a shallow clone works like a whole one', async () => {
  for (const message of ['second', 'third']) scratch.commit(message)
  const shallow = join(scratch.home, 'shallow')
  scratch.gitIn(scratch.home, 'clone', '--quiet', '--depth=1', `file://${scratch.checkout}`, shallow)
  const worktrees = await scratch.open({ repository: shallow })
  await cycle(worktrees)
  const { branch } = await make(worktrees)
  scratch.gitIn(shallow, 'commit', '--quiet', '--allow-empty', '-m', 'base goes on')
  expect(await worktrees.changes({ branch, baseBranch: 'trunk' })).toMatchObject({ ahead: 0, behind: 1, conflicts: [] })
  scratch.gitIn(shallow, 'switch', '--quiet', '--detach')
  await merged(worktrees)

  expect(scratch.gitIn(shallow, 'fsck', '--connectivity-only')).not.toContain('missing')
})

test('a partial clone works as far as its files are there, and else says what to fetch', async () => {
  await scratch.write('docs/guide.md', 'read me\n')
  scratch.commit('second')
  scratch.git('config', 'uploadpack.allowFilter', 'true')
  const partial = join(scratch.home, 'partial')
  const clone = ['clone', '--quiet', '--filter=blob:none', '--sparse', `file://${scratch.checkout}`, partial]
  scratch.gitIn(scratch.home, ...clone)
  const worktrees = await scratch.open({ repository: partial })

  await expect(make(worktrees)).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: expect.stringContaining(`${partial} is a partial clone`),
    hint: expect.stringContaining('fetch --refetch --no-filter'),
  })
  expect(await worktrees.list()).toEqual([])
  scratch.gitIn(partial, 'fetch', '--quiet', '--refetch', '--no-filter')
  await cycle(worktrees)
})

test('a repository with SHA-256 objects works', async () => {
  const modern = join(scratch.home, 'modern')
  scratch.gitIn(scratch.home, 'init', '--quiet', '-b', 'trunk', '--object-format=sha256', modern)
  await writeFile(join(modern, 'readme.md'), 'hello\n')
  scratch.gitIn(modern, 'add', '--all')
  scratch.gitIn(modern, 'commit', '--quiet', '-m', 'first')
  const worktrees = await scratch.open({ repository: modern })
  await cycle(worktrees)
})

test('a repository that borrows its objects from another works', async () => {
  const borrowing = join(scratch.home, 'borrowing')
  scratch.gitIn(scratch.home, 'clone', '--quiet', '--shared', scratch.checkout, borrowing)
  await cycle(await scratch.open({ repository: borrowing }))
})

test("opened from a worktree of the user's own, the same repository is found", async () => {
  const own = join(scratch.home, 'own worktree')
  scratch.git('worktree', 'add', '--quiet', '-b', 'own', own)
  const worktrees = await scratch.open({ repository: own })
  await cycle(worktrees)

  expect(worktrees.repository.gitDir).toBe(join(scratch.checkout, '.git'))
  expect(scratch.git('worktree', 'list')).toContain('own worktree')
})

test('submodules stay unpopulated, and their pin survives a snapshot', async () => {
  const other = await scratchRepository({ name: 'other' })
  scratch.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.checkout, 'sub')
  scratch.commit('submodule')
  const worktrees = await scratch.open()
  const { taskId, path } = await make(worktrees)
  await writeFile(join(path, 'new'), 'work')
  const snapshot = await worktrees.snapshot(taskId, 'x')

  expect(scratch.git('ls-tree', snapshot?.commit ?? '', 'sub')).toContain('160000')
  await worktrees.remove({ taskId })
  await other.remove()
})

test('LFS files arrive as their pointers and leave as what they are', async () => {
  const pointer =
    'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n'
  await scratch.write('big.bin', pointer)
  scratch.commit('pointer')
  await scratch.write('.gitattributes', '*.bin filter=lfs diff=lfs merge=lfs -text\n')
  scratch.git('add', '.gitattributes')
  scratch.git('commit', '--quiet', '-m', 'attributes')
  const worktrees = await scratch.open()
  const { taskId, path } = await make(worktrees)
  expect(await readFile(join(path, 'big.bin'), 'utf8')).toBe(pointer)
  expect(await worktrees.snapshot(taskId, 'unchanged')).toBeUndefined()

  await writeFile(join(path, 'big.bin'), 'the real content')
  const snapshot = await worktrees.snapshot(taskId, 'x')
  expect(scratch.git('show', `${snapshot?.commit}:big.bin`)).toBe('the real content')
})

test('a pipe in the place of a file is a deleted file to commits and snapshots, and a setup that leaves one is repaired', async () => {
  const worktrees = await scratch.open()
  const replace = (folder: string) => execFileSync('bash', ['-c', 'rm readme.md && mkfifo readme.md'], { cwd: folder })
  const options = { taskId: newId(), title: 'x', baseBranch: 'trunk' }
  const { taskId, path, setup } = await worktrees.create({
    ...options,
    setUp: async ({ worktree }) => void replace(worktree),
  })
  expect(setup).toEqual({ restored: ['readme.md'], excluded: [] })
  expect(await readFile(join(path, 'readme.md'), 'utf8')).toBe('hello\n')

  replace(path)
  await writeFile(join(path, 'work'), 'done')
  const snapshot = await worktrees.snapshot(taskId, 'x')
  const files = scratch.git('ls-tree', '-r', '--name-only', snapshot?.commit ?? '').split('\n')
  expect(files).toContain('work')
  expect(files).not.toContain('readme.md')
  await worktrees.remove({ taskId })
})

test('a huge file is saved and restored', async () => {
  const worktrees = await scratch.open()
  const { taskId, path } = await make(worktrees)
  const size = 40 * 1024 * 1024
  await writeFile(join(path, 'huge'), Buffer.alloc(size, 'matrix'))
  const { snapshot } = await worktrees.remove({ taskId })
  await worktrees.restore(snapshot ?? '', join(scratch.home, 'restored'))

  expect((await stat(join(scratch.home, 'restored/huge'))).size).toBe(size)
}, 60_000)

test('modes, links and line ends come back as they were', async () => {
  await scratch.write('.gitattributes', '*.bat text eol=crlf\n')
  await scratch.write('run.bat', 'echo\r\n')
  scratch.commit('crlf')
  const worktrees = await scratch.open()
  const { taskId, path } = await make(worktrees)
  expect(await readFile(join(path, 'run.bat'), 'utf8')).toBe('echo\r\n')

  await writeFile(join(path, 'tool'), '#!/bin/sh\n')
  await chmod(join(path, 'tool'), 0o755)
  const { snapshot } = await worktrees.remove({ taskId })
  await worktrees.restore(snapshot ?? '', join(scratch.home, 'restored'))
  expect((await stat(join(scratch.home, 'restored/tool'))).mode & 0o111).toBe(0o111)
})

/** Makes, changes, snapshots and removes a worktree, and checks that the work survives. */
async function cycle(worktrees: Worktrees): Promise<void> {
  const { taskId, path } = await make(worktrees)
  await writeFile(join(path, 'new'), 'work')
  await worktrees.snapshot(taskId, 'x')
  const { snapshot } = await worktrees.remove({ taskId, deleteBranch: true })
  const folder = join(scratch.home, `restored-${taskId}`)
  await worktrees.restore(snapshot ?? '', folder)

  expect(await readFile(join(folder, 'new'), 'utf8')).toBe('work')
}

async function merged(worktrees: Worktrees): Promise<void> {
  const { path, branch } = await make(worktrees)
  await writeFile(join(path, 'new'), 'work')
  scratch.gitIn(path, 'add', '--all')
  scratch.gitIn(path, 'commit', '--quiet', '-m', 'work')

  expect(await worktrees.merge({ branch, baseBranch: 'trunk', how: 'merge' })).toMatchObject({ outcome: 'merged' })
}

function make(worktrees: Worktrees) {
  return worktrees.create({ taskId: newId(), title: 'Some task', baseBranch: 'trunk' })
}
