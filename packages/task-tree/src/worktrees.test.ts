import { execFileSync } from 'node:child_process'
import {
  chmod,
  mkdir,
  open as openFile,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { monotonicFactory } from 'ulid'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Git, gitRunner, hooksOff, runGit } from './git.ts'
import { type ScratchRepository, scratchRepository } from './scratch-repository.ts'
import type { SetupPlace } from './setup.ts'
import type { Worktrees } from './worktrees.ts'

const newId = monotonicFactory()
let scratch: ScratchRepository
let worktrees: Worktrees
let before = ''
beforeEach(async () => {
  scratch = await scratchRepository({ name: `it's a "repo"\n é` })
  worktrees = await scratch.open()
  before = await scratch.fingerprint()
})
afterEach(() => scratch.remove())

describe('creating', () => {
  test('a worktree is on a branch of its own that starts at the base branch', async () => {
    const taskId = newId()
    const made = await worktrees.create({ taskId, title: 'Parse Dätes & times!', baseBranch: 'trunk' })

    expect(made).toEqual({
      taskId,
      path: join(scratch.worktrees, taskId),
      branch: `mxd/${taskId}/parse-dates-times`,
      commit: scratch.git('rev-parse', 'trunk'),
    })
    expect(await readFile(join(made.path, 'src/date.ts'), 'utf8')).toBe('export const day = 1\n')
    expect(scratch.gitIn(made.path, 'status', '--porcelain')).toBe('')
    expect(scratch.gitIn(made.path, 'branch', '--show-current')).toBe(made.branch)
    expect(await scratch.fingerprint()).toBe(before)
  })

  test('creating it again gives the same one back, also when both ask at once', async () => {
    const taskId = newId()
    const [one, two] = await Promise.all([make(taskId), make(taskId)])

    expect(two).toEqual(one)
    expect(await make(taskId)).toEqual(one)
  })

  test('eight at once all succeed', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => make(newId())))

    for (const { path } of made) expect(scratch.gitIn(path, 'status', '--porcelain')).toBe('')
    expect(await worktrees.list()).toHaveLength(8)
  })

  test('no hook of the repository runs, during creation or in the setup', async () => {
    for (const name of ['post-checkout', 'reference-transaction', 'pre-commit', 'post-index-change', 'post-commit']) {
      await scratch.write(`.git/hooks/${name}`, `#!/bin/sh\necho ${name} >> '${scratch.home}/ran'\n`)
      await chmod(join(scratch.checkout, '.git/hooks', name), 0o755)
    }
    const setUp = async ({ worktree }: SetupPlace) => {
      const env = { ...process.env, HOME: scratch.home, ...hooksOff }
      await writeFile(join(worktree, 'new'), '1')
      execFileSync('git', ['add', 'new'], { cwd: worktree, env })
      execFileSync('git', ['commit', '--quiet', '-m', 'new'], { cwd: worktree, env })
    }
    await make(newId(), setUp)

    expect(await readdir(scratch.home)).not.toContain('ran')
  })

  test('a setup that fails is rolled back, and its error is passed on', async () => {
    const setUp = async ({ worktree }: SetupPlace) => {
      await writeFile(join(worktree, 'half-done'), 'half')
      throw new Error('no such registry')
    }

    await expect(make(newId(), setUp)).rejects.toThrow('no such registry')
    await expectNothingLeft()
  })

  test('a setup is told where it runs, and an abort during it leaves nothing behind', async () => {
    const controller = new AbortController()
    const taskId = newId()
    const places: SetupPlace[] = []
    const setUp = async (place: SetupPlace) => {
      places.push(place)
      controller.abort(new Error('enough'))
    }
    const create = worktrees.create({ taskId, title: 'x', baseBranch: 'trunk', setUp, signal: controller.signal })

    await expect(create).rejects.toThrow('enough')
    const worktree = join(scratch.worktrees, taskId)
    expect(places).toMatchObject([
      { taskId, worktree, repository: scratch.checkout, branch: `mxd/${taskId}/x`, baseBranch: 'trunk' },
    ])
    await expectNothingLeft()
  })

  test('tracked files that a setup changed are restored, and new ones are in no commit and no snapshot', async () => {
    await scratch.write('.gitattributes', '*.md text\n')
    scratch.commit('attributes')
    scratch.git('config', 'user.name', 'Ada')
    scratch.git('config', 'user.email', 'ada@example.com')
    const taskId = newId()
    const { path, setup } = await make(taskId, async ({ worktree }) => {
      await writeFile(join(worktree, 'readme.md'), 'rewritten\n')
      await rm(join(worktree, 'src'), { recursive: true })
      await writeFile(join(worktree, 'lock file [1].json'), '{}')
      await mkdir(join(worktree, 'modules/a'), { recursive: true })
      await writeFile(join(worktree, 'modules/a/index.js'), '')
      await writeFile(join(worktree, 'quiet.log'), '')
    })
    await writeFile(join(path, 'work'), 'done')
    const { files } = await worktrees.commit({ taskId, message: 'work' })

    expect(setup).toEqual({ restored: ['readme.md', 'src/date.ts'], excluded: ['lock file [1].json', 'modules/'] })
    expect(await readFile(join(path, 'readme.md'), 'utf8')).toBe('hello\n')
    expect(await readFile(join(path, 'src/date.ts'), 'utf8')).toBe('export const day = 1\n')
    expect(files).toEqual(['work'])
    expect(await worktrees.uncommitted(taskId)).toEqual([])
    expect(await worktrees.snapshot(taskId, 'a look')).toBeUndefined()
  })

  test('a setup that deletes the worktree or every file of it fails, and nothing is left', async () => {
    const gone = make(newId(), ({ worktree }) => rm(worktree, { recursive: true }))
    await expect(gone).rejects.toMatchObject({ code: 'SETUP_FAILED', message: expect.stringContaining('deleted') })
    const emptied = make(newId(), async ({ worktree }) => {
      for (const name of await readdir(worktree))
        if (name !== '.git') await rm(join(worktree, name), { recursive: true })
    })
    await expect(emptied).rejects.toMatchObject({
      code: 'SETUP_FAILED',
      message: expect.stringContaining('every file'),
    })
    await expectNothingLeft()
  })

  test('the place of a setup is found again in a worktree that is ready, and in no other', async () => {
    const taskId = newId()
    let first: SetupPlace | undefined
    await make(taskId, async (place) => {
      first = place
    })

    expect(await worktrees.findSetupPlace(taskId, 'trunk')).toEqual(first)
    expect(await worktrees.findSetupPlace(newId(), 'trunk')).toBeUndefined()
  })

  test('a branch that a task has already is taken up again, whatever its title is now', async () => {
    const taskId = newId()
    const { path, branch } = await make(taskId)
    await writeFile(join(path, 'work'), 'done')
    scratch.gitIn(path, 'add', '--all')
    scratch.gitIn(path, 'commit', '--quiet', '-m', 'work')
    await worktrees.remove({ taskId })

    const again = await worktrees.create({ taskId, title: 'Another title', baseBranch: 'trunk' })
    expect(again.branch).toBe(branch)
    expect(await readFile(join(path, 'work'), 'utf8')).toBe('done')
  })

  test('what lies in the way is never overwritten', async () => {
    const taskId = newId()
    await mkdir(join(scratch.worktrees, taskId), { recursive: true })
    await writeFile(join(scratch.worktrees, taskId, 'precious'), 'mine')

    await expect(make(taskId)).rejects.toMatchObject({ code: 'WORKTREE_OBSTRUCTED' })
    expect(await readFile(join(scratch.worktrees, taskId, 'precious'), 'utf8')).toBe('mine')
  })

  test('a folder that was deleted by hand is made again', async () => {
    const taskId = newId()
    const { path } = await make(taskId)
    await rm(path, { recursive: true })

    expect((await make(taskId)).path).toBe(path)
    expect(scratch.gitIn(path, 'status', '--porcelain')).toBe('')
  })

  test('an unknown base branch, and names that are options or expressions, are refused', async () => {
    await expect(worktrees.create({ taskId: newId(), title: 'x', baseBranch: 'main' })).rejects.toMatchObject({
      code: 'BRANCH_UNKNOWN',
    })
    for (const baseBranch of ['--output=x', '-b', '@{-1}', 'HEAD', 'a..b', 'trunk^', 'a b', '../x', 'trunk\n', ''])
      await expect(worktrees.create({ taskId: newId(), title: 'x', baseBranch }), baseBranch).rejects.toMatchObject({
        code: 'GIT_NAME_INVALID',
      })
    for (const taskId of ['../../x', '-rf', '__proto__', 'a\0b', 'A'.repeat(10_000)])
      await expect(worktrees.create({ taskId, title: 'x', baseBranch: 'trunk' })).rejects.toMatchObject({
        code: 'TASK_ID_MALFORMED',
      })
    await expectNothingLeft()
  })
})

describe('snapshots', () => {
  test('a snapshot holds what is tracked and what is new, not what is ignored, and touches neither index nor HEAD', async () => {
    const { taskId, path } = await make(newId())
    await writeFile(join(path, 'readme.md'), 'changed\n')
    await rm(join(path, 'src'), { recursive: true })
    await mkdir(join(path, 'ignored'))
    await writeFile(join(path, 'ignored/big'), 'x')
    await writeFile(join(path, 'trace.log'), 'x')
    for (const name of awkwardNames) await writeFile(Buffer.concat([Buffer.from(`${path}/`), name]), 'awkward')
    await symlink('/etc/passwd', join(path, 'link'))
    const state = [scratch.gitIn(path, 'status', '--porcelain'), scratch.gitIn(path, 'rev-parse', 'HEAD')]
    const index = await readFile(join(scratch.checkout, '.git/worktrees', taskId, 'index'))
    const snapshot = await worktrees.snapshot(taskId, 'on demand')

    expect(await readFile(join(scratch.checkout, '.git/worktrees', taskId, 'index'))).toEqual(index)
    expect([scratch.gitIn(path, 'status', '--porcelain'), scratch.gitIn(path, 'rev-parse', 'HEAD')]).toEqual(state)
    const folder = join(scratch.home, 'restored')
    await worktrees.restore(snapshot?.name ?? '', folder)
    expect(await contentOf(folder)).toEqual(await contentOf(path))
    expect(await scratch.fingerprint()).toBe(before)
    expect(scratch.git('branch', '--list')).not.toContain('snapshot')
  })

  test('where the branch holds everything there is nothing to save', async () => {
    const { taskId } = await make(newId())

    expect(await worktrees.snapshot(taskId, 'on demand')).toBeUndefined()
  })

  test('files that git was told to look away from are saved all the same', async () => {
    const { taskId, path } = await make(newId())
    scratch.gitIn(path, 'update-index', '--assume-unchanged', 'readme.md')
    scratch.gitIn(path, 'update-index', '--skip-worktree', 'src/date.ts')
    await writeFile(join(path, 'readme.md'), 'hidden work\n')
    await writeFile(join(path, 'src/date.ts'), 'hidden work\n')
    const snapshot = await worktrees.snapshot(taskId, 'x')

    expect(scratch.git('show', `${snapshot?.commit}:readme.md`)).toBe('hidden work')
    expect(scratch.git('show', `${snapshot?.commit}:src/date.ts`)).toBe('hidden work')
  })

  test('a damaged index does not keep work from being saved', async () => {
    const { taskId, path } = await make(newId())
    await writeFile(join(path, 'new'), 'work')
    await writeFile(join(scratch.checkout, '.git/worktrees', taskId, 'index'), 'garbage')
    const snapshot = await worktrees.snapshot(taskId, 'x')

    expect(scratch.git('show', `${snapshot?.commit}:new`)).toBe('work')
    expect(scratch.git('show', `${snapshot?.commit}:readme.md`)).toBe('hello')
  })

  test('snapshots are listed with what they are, survive tidying up by git, and are forgotten only on request', async () => {
    const { taskId, path, branch } = await make(newId())
    await writeFile(join(path, 'new'), '1')
    const first = await worktrees.snapshot(taskId, 'before lunch')
    await writeFile(join(path, 'new'), '2')
    const second = await worktrees.snapshot(taskId, 'after lunch')
    scratch.git('gc', '--prune=now', '--quiet')

    expect(await worktrees.snapshots()).toEqual([first, second])
    expect(await worktrees.snapshots(taskId)).toEqual([first, second])
    expect(await worktrees.snapshots(newId())).toEqual([])
    expect(first).toMatchObject({ reason: 'before lunch', branch, head: scratch.git('rev-parse', 'trunk') })
    expect(scratch.git('show', `${first?.commit}:new`)).toBe('1')
    await worktrees.forgetSnapshot(first?.name ?? '')
    expect(await worktrees.snapshots()).toEqual([second])
  })

  test('what a snapshot holds beyond the commit it was taken on is told file by file', async () => {
    const { taskId, path } = await make(newId())
    await writeFile(join(path, 'readme.md'), 'hello\nagain\n')
    await writeFile(join(path, 'a "new"\nfile'), 'work\n')
    const snapshot = await worktrees.snapshot(taskId, 'x')

    expect(await worktrees.snapshotChanges(snapshot?.name ?? '')).toMatchObject([
      { path: 'a "new"\nfile', status: 'added', additions: 1, deletions: 0 },
      { path: 'readme.md', status: 'modified', additions: 1, deletions: 0 },
    ])
    await expect(worktrees.snapshotChanges('HEAD')).rejects.toMatchObject({ code: 'SNAPSHOT_UNKNOWN' })
  })

  test('a snapshot is brought back as a worktree with its changes uncommitted, as they were', async () => {
    const { taskId, path } = await make(newId())
    await writeFile(join(path, 'readme.md'), 'changed\n')
    await writeFile(join(path, 'new'), 'work')
    const status = scratch.gitIn(path, 'status', '--porcelain')
    const { snapshot } = await worktrees.remove({ taskId, deleteBranch: true })
    const [from] = await worktrees.snapshots(taskId)
    await worktrees.create({ taskId, title: 'x', baseBranch: 'trunk', ...(from && { from }) })

    expect(from?.name).toBe(snapshot)
    expect(scratch.gitIn(path, 'status', '--porcelain')).toBe(status)
    expect(await readFile(join(path, 'new'), 'utf8')).toBe('work')
  })

  test('nothing is ever restored over what exists, and an unknown name is refused', async () => {
    await expect(worktrees.restore(newId(), join(scratch.home, 'x'))).rejects.toMatchObject({
      code: 'SNAPSHOT_UNKNOWN',
    })
    await expect(worktrees.restore('--output=x', join(scratch.home, 'x'))).rejects.toMatchObject({
      code: 'SNAPSHOT_UNKNOWN',
    })
    const { taskId, path } = await make(newId())
    await writeFile(join(path, 'new'), 'work')
    const snapshot = await worktrees.snapshot(taskId, 'x')

    await expect(worktrees.restore(snapshot?.name ?? '', scratch.checkout)).rejects.toMatchObject({
      code: 'WORKTREE_OBSTRUCTED',
    })
  })
})

describe('removing', () => {
  test('a worktree with uncommitted work is saved before it goes', async () => {
    const { taskId, path } = await make(newId())
    await writeFile(join(path, 'new'), 'work')
    const { snapshot } = await worktrees.remove({ taskId })

    expect(await worktrees.list()).toEqual([])
    const [saved] = await worktrees.snapshots(taskId)
    expect(saved?.name).toBe(snapshot)
    expect(scratch.git('show', `${saved?.commit}:new`)).toBe('work')
    expect(scratch.git('worktree', 'list', '--porcelain', '-z').split('\0\0').filter(Boolean)).toHaveLength(1)
    expect(await scratch.fingerprint()).toBe(before)
  })

  test('a clean one leaves its branch and no snapshot', async () => {
    const { taskId, branch } = await make(newId())

    expect(await worktrees.remove({ taskId })).toEqual({ snapshot: null })
    expect(scratch.git('branch', '--list', branch)).not.toBe('')
  })

  test('a branch is deleted only when it is merged or saved', async () => {
    const merged = await make(newId())
    const unmerged = await make(newId())
    await writeFile(join(unmerged.path, 'new'), 'work')
    scratch.gitIn(unmerged.path, 'add', '--all')
    scratch.gitIn(unmerged.path, 'commit', '--quiet', '-m', 'work')
    const tip = scratch.gitIn(unmerged.path, 'rev-parse', 'HEAD')

    expect(await worktrees.remove({ taskId: merged.taskId, deleteBranch: true, baseBranch: 'trunk' })).toEqual({
      snapshot: null,
    })
    await worktrees.remove({ taskId: unmerged.taskId, deleteBranch: true, baseBranch: 'trunk' })
    expect(scratch.git('branch', '--list', 'mxd/*')).toBe('')
    const [saved] = await worktrees.snapshots(unmerged.taskId)
    expect(scratch.git('merge-base', tip, saved?.commit ?? '')).toBe(tip)
  })

  test('commits that only the history of the worktree remembers are kept', async () => {
    const { taskId, path } = await make(newId())
    scratch.gitIn(path, 'checkout', '--quiet', '--detach')
    await writeFile(join(path, 'new'), 'work')
    scratch.gitIn(path, 'add', '--all')
    scratch.gitIn(path, 'commit', '--quiet', '-m', 'on no branch')
    const lost = scratch.gitIn(path, 'rev-parse', 'HEAD')
    scratch.gitIn(path, 'checkout', '--quiet', '-')
    await worktrees.remove({ taskId })
    scratch.git('gc', '--prune=now', '--quiet')

    expect(scratch.git('show', `${lost}:new`)).toBe('work')
  })

  test('a branch is saved also when its folder was deleted by hand', async () => {
    const { taskId, path } = await make(newId())
    await writeFile(join(path, 'new'), 'work')
    scratch.gitIn(path, 'add', '--all')
    scratch.gitIn(path, 'commit', '--quiet', '-m', 'work')
    await rm(path, { recursive: true })
    await worktrees.remove({ taskId, deleteBranch: true })

    const [saved] = await worktrees.snapshots(taskId)
    expect(scratch.git('show', `${saved?.commit}:new`)).toBe('work')
  })

  test('a repository inside the worktree stops the removal, and everything stays where it is', async () => {
    const { taskId, path } = await make(newId())
    await mkdir(join(path, 'clone'))
    scratch.gitIn(join(path, 'clone'), 'init', '--quiet')
    await writeFile(join(path, 'clone/work'), 'precious')

    await expect(worktrees.remove({ taskId })).rejects.toMatchObject({
      code: 'WORKTREE_UNSAVED',
      message: expect.stringContaining('clone/'),
    })
    expect(await readFile(join(path, 'clone/work'), 'utf8')).toBe('precious')
    expect(scratch.gitIn(path, 'status', '--porcelain')).toContain('clone/')
    await worktrees.remove({ taskId, discardNested: true })
    expect(await worktrees.list()).toEqual([])
  })

  test('what git does not know as a worktree of the task is not deleted', async () => {
    const taskId = newId()
    await mkdir(join(scratch.worktrees, taskId))
    await writeFile(join(scratch.worktrees, taskId, 'precious'), 'mine')

    await expect(worktrees.remove({ taskId })).rejects.toMatchObject({ code: 'WORKTREE_UNSAVED' })
    expect(await readFile(join(scratch.worktrees, taskId, 'precious'), 'utf8')).toBe('mine')
    await expect(worktrees.remove({ taskId: newId() })).rejects.toMatchObject({ code: 'WORKTREE_UNKNOWN' })
  })

  test('work that arrives while the worktree is being removed is saved too', async () => {
    const { taskId, path } = await make(newId())
    await writeFile(join(path, 'new'), 'work')
    const held = await openFile(join(path, 'late'), 'w')
    const slow: Git = async (args, options) => {
      const result = await runGit(args, options)
      if (args.includes('write-tree') && (await worktrees.snapshots(taskId)).length === 0)
        await held.write('written late')
      return result
    }
    const { snapshot } = await (await scratch.open({ git: slow })).remove({ taskId })
    await held.close()

    const saved = (await worktrees.snapshots(taskId)).find(({ name }) => name === snapshot)
    expect(scratch.git('show', `${saved?.commit}:late`)).toBe('written late')
  })

  test('a disk too small for what must be saved keeps the worktree where it is, until there is room', async () => {
    const { taskId, path } = await make(newId())
    const content = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7919) % 251))
    await writeFile(join(path, 'new'), content)
    const program = join(scratch.home, 'git-on-a-full-disk')
    await writeFile(program, '#!/bin/sh\nulimit -f 2\nexec git "$@"\n', { mode: 0o755 })
    const cramped = await scratch.open({ git: gitRunner({ program }) })

    await expect(cramped.remove({ taskId })).rejects.toMatchObject({ code: 'GIT_FAILED' })
    expect(await readFile(join(path, 'new'))).toEqual(content)
    expect(await worktrees.find(taskId)).toMatchObject({ taskId, path })
    expect(await worktrees.remove({ taskId })).toEqual({ snapshot: expect.any(String) })
  })

  test('a link in the worktree is deleted, and what it leads to is not', async () => {
    const { taskId, path } = await make(newId())
    await mkdir(join(scratch.home, 'elsewhere'))
    await writeFile(join(scratch.home, 'elsewhere/precious'), 'mine')
    await symlink(join(scratch.home, 'elsewhere'), join(path, 'link'))
    await worktrees.remove({ taskId })

    expect(await readFile(join(scratch.home, 'elsewhere/precious'), 'utf8')).toBe('mine')
  })

  test('two removals at once, and a creation in between, end with one worktree or none', async () => {
    const { taskId, path } = await make(newId())
    await writeFile(join(path, 'new'), 'work')
    const results = await Promise.allSettled([
      worktrees.remove({ taskId }),
      make(taskId),
      worktrees.remove({ taskId }),
      worktrees.remove({ taskId }),
    ])

    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected'])
    expect(await worktrees.list()).toEqual([])
    expect(await worktrees.snapshots(taskId)).toHaveLength(1)
  })
})

test('whatever is asked for at once of one task is done one after the other, and its work is kept', async () => {
  const home = process.env.HOME
  process.env.HOME = scratch.home
  onTestFinished(() => {
    process.env.HOME = home
  })
  const { taskId, path, branch } = await make(newId())
  scratch.git('switch', '--quiet', '-c', 'elsewhere')
  await writeFile(join(path, 'committed'), 'work')
  await worktrees.commit({ taskId, message: 'first' })
  await writeFile(join(path, 'new'), 'work')
  const [merged, ...others] = await Promise.allSettled([
    worktrees.merge({ branch, baseBranch: 'trunk', how: 'merge' }),
    worktrees.update({ taskId, from: 'trunk' }),
    worktrees.commit({ taskId, message: 'second' }),
    worktrees.snapshot(taskId, 'to be sure'),
    worktrees.changes({ branch, baseBranch: 'trunk' }),
    worktrees.remove({ taskId, deleteBranch: true, baseBranch: 'trunk' }),
  ])

  expect(merged).toMatchObject({ value: { outcome: 'merged' } })
  expect(others.at(-1)).toMatchObject({ status: 'fulfilled' })
  expect(await worktrees.list()).toEqual([])
  expect(scratch.git('show', 'trunk:committed')).toBe('work')
  const [saved] = await worktrees.snapshots(taskId)
  expect(scratch.git('show', `${saved?.commit}:new`)).toBe('work')
  expect(scratch.git('fsck', '--no-dangling', '--no-progress')).toBe('')
})

describe('looking around', () => {
  test('stale worktrees are found with the reason and left alone', async () => {
    const [closed, unknown, gone, live] = await Promise.all([
      make(newId()),
      make(newId()),
      make(newId()),
      make(newId()),
    ])
    await rm(gone.path, { recursive: true })
    const tasks = [task(closed.taskId, 'closed'), task(gone.taskId, 'pending'), task(live.taskId, 'in_progress')]
    const stale = await worktrees.findStale(tasks)

    expect(new Map(stale.map(({ taskId, why }) => [taskId, why]))).toEqual(
      new Map([
        [closed.taskId, 'its task is closed'],
        [unknown.taskId, 'its task is no longer in the tree'],
        [gone.taskId, 'its folder is gone'],
      ]),
    )
    expect(await worktrees.list()).toHaveLength(4)
  })

  test('disk use counts what the files take up, holes and second names aside', async () => {
    const { taskId, path } = await make(newId())
    const [{ bytes: empty } = { bytes: 0 }] = await worktrees.diskUse()
    await writeFile(join(path, 'big'), Buffer.alloc(1024 * 1024, 1))
    const [used] = await worktrees.diskUse()

    expect(used?.taskId).toBe(taskId)
    expect((used?.bytes ?? 0) - empty).toBeGreaterThanOrEqual(1024 * 1024)
    expect((used?.bytes ?? 0) - empty).toBeLessThan(1024 * 1024 + 64 * 1024)
  })

  test('a worktree that was moved by hand is not taken for ours', async () => {
    const { taskId, path } = await make(newId())
    await rename(path, `${path}-moved`)

    expect(await worktrees.find(taskId)).toBeUndefined()
    expect(await worktrees.list()).toMatchObject([{ taskId, state: 'missing' }])
  })
})

describe('a repository that has moved', () => {
  test('is found again by the worktrees of tasks, with all that was not committed, and those of the user are left alone', async () => {
    const { path, taskId } = await make(newId())
    await writeFile(join(path, 'note.txt'), 'draft\n')
    const own = join(scratch.home, 'own')
    scratch.git('worktree', 'add', '--quiet', '--detach', own)
    const link = await readFile(join(own, '.git'), 'utf8')
    const moved = join(scratch.home, 'elsewhere')
    await rename(scratch.checkout, moved)
    expect(() => scratch.gitIn(path, 'status', '--porcelain')).toThrow('not a git repository')

    const again = await scratch.open({ repository: moved })
    expect(await again.recover()).toEqual([{ taskId, did: 'led back to the repository' }])
    expect(scratch.gitIn(path, 'status', '--porcelain')).toBe('?? note.txt')
    expect(await again.uncommitted(taskId)).toEqual(['note.txt'])
    expect(await readFile(join(own, '.git'), 'utf8')).toBe(link)
    expect(await again.recover()).toEqual([])
  })

  test('is not led to by a worktree that is a repository of its own by now', async () => {
    const { path } = await make(newId())
    await rm(join(path, '.git'))
    scratch.gitIn(path, 'init', '--quiet')

    expect(await worktrees.recover()).toEqual([])
    expect(scratch.gitIn(path, 'rev-parse', '--git-dir')).toBe('.git')
  })
})

const awkwardNames = ['a b', `it's "quoted"`, 'new\nline', 'ünïcödé', '-rf', ':(glob)*', '#hash', 'tab\there', '\\back']
  .map((name) => Buffer.from(name))
  .concat(Buffer.from([0x66, 0xff, 0xfe]))

function make(taskId: string, setUp?: (place: SetupPlace) => Promise<void>) {
  return worktrees.create({ taskId, title: 'Some task', baseBranch: 'trunk', ...(setUp && { setUp }) })
}

async function expectNothingLeft(): Promise<void> {
  expect(await worktrees.list()).toEqual([])
  expect(scratch.git('branch', '--list', 'mxd/*')).toBe('')
  expect(scratch.git('worktree', 'list', '--porcelain', '-z').split('\0\0').filter(Boolean)).toHaveLength(1)
  expect((await readdir(scratch.worktrees)).filter((name) => name !== '.matrix')).toEqual([])
}

/** Everything but what the scratch repository ignores. */
async function contentOf(folder: string): Promise<Record<string, string>> {
  const content: Record<string, string> = {}
  for (const name of await readdir(folder, { encoding: 'buffer', recursive: false })) {
    const text = name.toString('latin1')
    if (['.git', 'ignored', 'trace.log'].includes(text)) continue
    const full = Buffer.concat([Buffer.from(`${folder}/`), name])
    const entry = await stat(full)
    content[text] = entry.isFile() ? (await readFile(full)).toString('latin1') : 'folder'
  }
  return content
}

function task(id: string, status: 'closed' | 'pending' | 'in_progress') {
  const at = '2026-01-01T00:00:00.000Z'
  const empty = { description: '', branch: null, parentId: null, children: [], worktreePath: null, costUsd: 0 }
  return {
    ...empty,
    id,
    title: 'x',
    status,
    editedBy: 'user',
    persistent: false,
    createdAt: at,
    updatedAt: at,
  } as const satisfies object as never
}
