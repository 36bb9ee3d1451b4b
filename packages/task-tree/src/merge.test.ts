import { mkdir, readFile, rm, rmdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monotonicFactory } from 'ulid'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nodeDisk } from './disk.ts'
import { faultyDisk } from './faulty-disk.ts'
import { type Git, runGit } from './git.ts'
import { isForbiddenPath } from './merge.ts'
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

describe('what a branch changes', () => {
  test('files, lines, hunks, ahead and behind are counted against where the branch parted', async () => {
    await work({ 'readme.md': 'hello\nworld\n', 'new file': '1\n2\n', 'src/date.ts': null })
    await scratch.write('other', 'on the base')
    scratch.commit('base goes on')
    const changes = await worktrees.changes({ branch: task.branch, baseBranch: 'trunk', withHunks: true })

    expect(changes).toMatchObject({
      ahead: 1,
      behind: 1,
      additions: 3,
      deletions: 1,
      conflicts: [],
      isTruncated: false,
    })
    expect(changes.mergeBase).toBe(task.commit)
    expect(changes.files.map(({ path, status, additions, deletions }) => [path, status, additions, deletions])).toEqual(
      [
        ['new file', 'added', 2, 0],
        ['readme.md', 'modified', 1, 0],
        ['src/date.ts', 'deleted', 0, 1],
      ],
    )
    expect(changes.files[1]?.hunks).toEqual([
      { oldStart: 1, oldLines: 1, newStart: 1, newLines: 2, heading: '', lines: [' hello', '+world'] },
    ])
  })

  test('renames, binaries, links in place of files and awkward names are told apart, each with its own hunks', async () => {
    const long = Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n')
    await scratch.write('long.txt', `${long}\n`)
    await scratch.write('was-a-file', 'x\n')
    scratch.commit('more')
    task = await worktrees.create({ taskId: newId(), title: 'More', baseBranch: 'trunk' })
    await rm(join(task.path, 'was-a-file'))
    await symlink('readme.md', join(task.path, 'was-a-file'))
    await work({
      'long.txt': null,
      'moved.txt': `${long}!\n`,
      bin: Buffer.from([0, 1, 2, 0]),
      'q"uo\nte\té': 'odd\n',
    })
    const { files } = await worktrees.changes({ branch: task.branch, baseBranch: 'trunk', withHunks: true })

    const byPath = new Map(files.map((file) => [file.path, file]))
    expect(byPath.get('moved.txt')).toMatchObject({
      status: 'renamed',
      oldPath: 'long.txt',
      additions: 1,
      deletions: 1,
    })
    expect(byPath.get('bin')).toMatchObject({ isBinary: true, additions: null, hunks: [] })
    expect(byPath.get('was-a-file')).toMatchObject({ status: 'retyped' })
    expect(byPath.get('was-a-file')?.hunks?.flatMap((hunk) => hunk.lines)).toContain('+readme.md')
    expect(byPath.get(`q"uo\nte\té`)?.hunks?.[0]?.lines).toEqual(['+odd'])
    expect(byPath.get('moved.txt')?.hunks?.[0]?.lines).toContain('+line 29!')
  })

  test('a patch that is too large is cut, and the list of files is still complete', async () => {
    await work({ big: 'x'.repeat(50).concat('\n').repeat(4000), small: 'y\n' })
    const changes = await worktrees.changes({
      branch: task.branch,
      baseBranch: 'trunk',
      withHunks: true,
      maxPatchBytes: 10_000,
    })

    expect(changes.isTruncated).toBe(true)
    expect(changes.files.map((file) => file.path)).toEqual(['big', 'small'])
    const { files } = await worktrees.changes({
      branch: task.branch,
      baseBranch: 'trunk',
      withHunks: true,
      paths: ['small'],
    })
    expect(files).toMatchObject([{ path: 'small', hunks: [{ lines: ['+y'] }] }])
  })

  test('only what came after a commit can be asked for; of one that is not known, everything is shown', async () => {
    await work({ first: '1\n' })
    const { head } = await worktrees.changes({ branch: task.branch, baseBranch: 'trunk' })
    await work({ second: '2\n' })
    const pathsSince = async (since: string) =>
      (await worktrees.changes({ branch: task.branch, baseBranch: 'trunk', since })).files.map(({ path }) => path)

    expect(await pathsSince(head)).toEqual(['second'])
    for (const unknown of ['0'.repeat(40), '--output=x', 'trunk'])
      expect(await pathsSince(unknown)).toEqual(['first', 'second'])
  })

  test('what differs in white space alone can be left out, files and lines', async () => {
    const long = Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n')
    await scratch.write('a-spaces', 'one\ntwo\n')
    await scratch.write('b-both', 'one\ntwo\n')
    await scratch.write('long.txt', `${long}\n`)
    scratch.commit('more')
    task = await worktrees.create({ taskId: newId(), title: 'More', baseBranch: 'trunk' })
    await work({
      'a-spaces': '  one\n  two\n',
      'b-both': '  one\nTWO\n',
      'long.txt': null,
      'moved.txt': `${long}\n`,
      z: 'new\n',
    })
    const options = { branch: task.branch, baseBranch: 'trunk', withHunks: true, ignoreWhitespace: true }
    const { files } = await worktrees.changes(options)

    expect(files.map(({ path, hunks = [] }) => [path, hunks.flatMap(({ lines }) => lines)])).toEqual([
      ['b-both', ['   one', '-two', '+TWO']],
      ['moved.txt', []],
      ['z', ['+new']],
    ])
  })

  test('files that would conflict are named before anyone merges', async () => {
    await work({ 'readme.md': 'mine\n', fine: 'fine\n' })
    await scratch.write('readme.md', 'theirs\n')
    scratch.commit('theirs')

    expect((await worktrees.changes({ branch: task.branch, baseBranch: 'trunk' })).conflicts).toEqual(['readme.md'])
  })

  test('a path is taken literally, never as a pattern', async () => {
    await work({ 'a.txt': 'a\n', 'b.txt': 'b\n' })

    for (const path of ['*', ':(glob)**', ':/', '--output=x'])
      expect((await worktrees.changes({ branch: task.branch, baseBranch: 'trunk', paths: [path] })).files).toEqual([])
  })
})

describe('merging', () => {
  beforeEach(() => scratch.git('switch', '--quiet', '-c', 'elsewhere'))

  test("a merge commit in the user's name moves the base and touches no checkout", async () => {
    await work({ 'readme.md': 'changed\n' })
    const before = await scratch.fingerprint()
    const result = await worktrees.merge({
      branch: task.branch,
      baseBranch: 'trunk',
      how: 'merge',
      message: '--amend\n\nA "title"',
    })

    expect(result).toEqual({ outcome: 'merged', commit: scratch.git('rev-parse', 'trunk') })
    expect(scratch.git('log', '-1', '--format=%an %ae %cn %s', 'trunk')).toBe('Ada ada@example.com Ada --amend')
    expect(scratch.git('rev-list', '--parents', '-1', 'trunk').split(' ')).toHaveLength(3)
    expect(scratch.git('show', 'trunk:readme.md')).toBe('changed')
    expect(await scratch.fingerprint()).toBe(before)
    expect(await worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'merge' })).toEqual({
      outcome: 'nothing to merge',
    })
  })

  test('a squash is one commit on the base', async () => {
    await work({ a: '1' })
    await work({ a: '2' })
    await worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'squash', message: 'All of it' })

    expect(scratch.git('log', '--format=%s', 'trunk')).toBe('All of it\nfirst')
    expect(scratch.git('show', 'trunk:a')).toBe('2')
  })

  test('a conflict is an answer with its files, and leaves nothing behind', async () => {
    await work({ 'readme.md': 'mine\n' })
    scratch.git('switch', '--quiet', 'trunk')
    await scratch.write('readme.md', 'theirs\n')
    const base = scratch.commit('theirs')
    scratch.git('switch', '--quiet', 'elsewhere')
    const before = await scratch.fingerprint()

    expect(await worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'merge' })).toEqual({
      outcome: 'conflict',
      files: ['readme.md'],
    })
    expect(scratch.git('rev-parse', 'trunk')).toBe(base)
    expect(await scratch.fingerprint()).toBe(before)
  })

  test('a branch that moved on since it was looked at is not merged', async () => {
    await work({ a: '1' })
    const { head: expectedHead } = await worktrees.changes({ branch: task.branch, baseBranch: 'trunk' })
    await work({ a: '2' })

    await expect(
      worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'merge', expectedHead }),
    ).rejects.toMatchObject({
      code: 'BRANCH_MOVED',
    })
  })

  test('many merges at once all arrive', async () => {
    const tasks = await Promise.all(
      ['a', 'b', 'c', 'd'].map((title) => worktrees.create({ taskId: newId(), title, baseBranch: 'trunk' })),
    )
    for (const [index, each] of tasks.entries()) {
      task = each
      await work({ [`file ${index}`]: 'x' })
    }
    await Promise.all(tasks.map(({ branch }) => worktrees.merge({ branch, baseBranch: 'trunk', how: 'squash' })))

    expect(scratch.git('ls-tree', '--name-only', 'trunk').match(/file \d/g)).toHaveLength(4)
  })

  test('without a name to commit under nothing is merged, and the error says how to give one', async () => {
    await work({ a: '1' })
    await writeFile(join(scratch.home, '.gitconfig'), '')
    const base = scratch.git('rev-parse', 'trunk')

    await expect(worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'merge' })).rejects.toMatchObject({
      code: 'GIT_IDENTITY_MISSING',
      hint: expect.stringContaining('git config --global user.name'),
    })
    expect(scratch.git('rev-parse', 'trunk')).toBe(base)
  })

  test("a branch with a file that could pass for git's own is refused", async () => {
    const blob = scratch.git('hash-object', '-w', 'readme.md')
    const tree = execTree([`100644 blob ${blob}\t.GIT`])
    const commit = scratch.git('commit-tree', '-p', 'trunk', '-m', 'evil', tree)
    scratch.git('update-ref', `refs/heads/${task.branch}`, commit)

    await expect(worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'merge' })).rejects.toMatchObject({
      code: 'MERGE_REFUSED',
    })
    for (const path of [
      '.git/config',
      'a/.GiT',
      'git~1',
      'x/.git . /hooks',
      '.g\u200cit',
      '.git::$INDEX_ALLOCATION',
      'a/../b',
    ])
      expect(isForbiddenPath(path), path).toBe(true)
    for (const path of ['.gitignore', '.github/x', 'git', 'my.git/x', 'a..b'])
      expect(isForbiddenPath(path), path).toBe(false)
  })

  test('an abort leaves the base where it was', async () => {
    await work({ a: '1' })
    const base = scratch.git('rev-parse', 'trunk')
    const signal = AbortSignal.abort(new Error('enough'))

    await expect(worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'merge', signal })).rejects.toThrow(
      'enough',
    )
    expect(scratch.git('rev-parse', 'trunk')).toBe(base)
  })
})

describe('a base that the user has checked out', () => {
  test('is left alone, and the error names the folder', async () => {
    await work({ a: '1' })
    const before = [await scratch.fingerprint(), scratch.git('rev-parse', 'trunk')]

    await expect(worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'merge' })).rejects.toMatchObject({
      code: 'BRANCH_CHECKED_OUT',
      message: expect.stringContaining(scratch.checkout),
    })
    expect([await scratch.fingerprint(), scratch.git('rev-parse', 'trunk')]).toEqual(before)
  })

  test("is brought along when asked, with changes of the user's that are not in the way kept", async () => {
    await work({ 'src/date.ts': 'changed\n', 'new/file': 'n\n' })
    await scratch.write('readme.md', 'my own edit\n')
    await scratch.write('untracked', 'mine\n')
    const result = await worktrees.merge({
      branch: task.branch,
      baseBranch: 'trunk',
      how: 'merge',
      updateCheckout: true,
    })

    expect(result.outcome).toBe('merged')
    expect(scratch.git('status', '--porcelain').split('\n')).toEqual(['M readme.md', '?? untracked'])
    expect(await readFile(join(scratch.checkout, 'src/date.ts'), 'utf8')).toBe('changed\n')
    expect(await readFile(join(scratch.checkout, 'new/file'), 'utf8')).toBe('n\n')
  })

  test("is left alone when a change of the user's is in the way", async () => {
    await work({ 'readme.md': 'theirs\n', untracked: 'theirs\n' })
    for (const [path, content] of [
      ['readme.md', 'mine\n'],
      ['untracked', 'mine\n'],
    ] as const) {
      await scratch.write(path, content)
      const before = [await scratch.fingerprint(), scratch.git('rev-parse', 'trunk')]
      await expect(
        worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'merge', updateCheckout: true }),
      ).rejects.toMatchObject({ code: 'BRANCH_CHECKED_OUT', hint: expect.stringContaining('stash') })
      expect([await scratch.fingerprint(), scratch.git('rev-parse', 'trunk')]).toEqual(before)
      await rm(join(scratch.checkout, path))
      if (path === 'readme.md') scratch.git('checkout', '--', path)
    }
  })

  test("is left alone when a file of the user's is in the way that git ignores there", async () => {
    await scratch.write('mine.log', 'mine\n')
    await scratch.write('folder.log', 'mine\n')
    const before = [await scratch.fingerprint(), scratch.git('rev-parse', 'trunk')]
    for (const path of ['mine.log', 'folder.log/theirs']) {
      scratch.gitIn(task.path, 'reset', '--quiet', '--hard', 'trunk')
      await mkdir(join(task.path, path, '..'), { recursive: true })
      await writeFile(join(task.path, path), 'theirs\n')
      scratch.gitIn(task.path, 'add', '--force', path)
      await work({ other: path })

      await expect(
        worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'merge', updateCheckout: true }),
      ).rejects.toMatchObject({ code: 'BRANCH_CHECKED_OUT', message: expect.stringMatching(/(mine|folder)\.log/) })
      expect([await scratch.fingerprint(), scratch.git('rev-parse', 'trunk')]).toEqual(before)
    }
  })

  test('is brought along where a folder becomes a file or a file a folder', async () => {
    await work({ 'src/date.ts': null, src: 'now a file\n', 'readme.md': null, 'readme.md/now': 'a folder\n' })
    await worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'merge', updateCheckout: true })

    expect(await readFile(join(scratch.checkout, 'src'), 'utf8')).toBe('now a file\n')
    expect(await readFile(join(scratch.checkout, 'readme.md/now'), 'utf8')).toBe('a folder\n')
    expect(scratch.git('status', '--porcelain')).toBe('')
  })

  test('is brought all the way by the next process when this one died before the branch moved', async () => {
    await work({ 'src/date.ts': 'changed\n' })
    let isDead = false
    const git: Git = async (args, options) => {
      isDead ||= args.includes('update-ref')
      if (isDead) throw new Error('died')
      return runGit(args, options)
    }
    const disk = faultyDisk(nodeDisk, () => (isDead ? { code: 'died' } : undefined))
    const dying = await scratch.open({ git, disk })
    const options = { branch: task.branch, baseBranch: 'trunk', how: 'squash', updateCheckout: true } as const
    await expect(dying.merge(options)).rejects.toThrow()
    expect(scratch.git('log', '-1', '--format=%s', 'trunk')).toBe('first')

    const next = await scratch.open()
    expect(await next.recover()).toEqual([])
    expect(scratch.git('log', '-1', '--format=%s', 'trunk')).toBe(`Squash ${task.branch}`)
    expect(scratch.git('status', '--porcelain')).toBe('')
  })

  test("is left alone while a merge or a filter needs the user's own git", async () => {
    await work({ 'data.bin': 'pointer\n' })
    const merge = () =>
      worktrees.merge({ branch: task.branch, baseBranch: 'trunk', how: 'merge', updateCheckout: true })
    await scratch.write('.git/MERGE_HEAD', task.commit)
    await expect(merge()).rejects.toMatchObject({
      code: 'BRANCH_CHECKED_OUT',
      message: expect.stringContaining('MERGE_HEAD'),
    })
    await rm(join(scratch.checkout, '.git/MERGE_HEAD'))
    await scratch.write('.gitattributes', '*.bin filter=lfs\n')
    await expect(merge()).rejects.toMatchObject({
      code: 'BRANCH_CHECKED_OUT',
      message: expect.stringContaining('data.bin'),
    })
  })
})

/** Commits these files on the task's branch; nothing stands for a file that goes. */
async function work(files: Record<string, string | Buffer | null>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const full = join(task.path, path)
    if (content === null) {
      await rm(full)
      continue
    }
    await rmdir(full).catch(() => {}) // A folder that has become empty may become a file.
    await mkdir(join(full, '..'), { recursive: true })
    await writeFile(full, content)
  }
  scratch.gitIn(task.path, 'add', '--all')
  scratch.gitIn(task.path, 'commit', '--quiet', '-m', 'work')
}

function execTree(lines: string[]): string {
  return scratch.gitWith(`${lines.join('\n')}\n`, 'mktree')
}
