import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { monotonicFactory } from 'ulid'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ScratchRepository, scratchRepository } from './scratch-repository.ts'
import type { Worktree } from './worktree-creation.ts'
import { isRelative } from './worktree-settings.ts'

const newId = monotonicFactory()
let scratch: ScratchRepository
beforeEach(async () => {
  scratch = await scratchRepository()
  process.env.HOME = scratch.home
})
afterEach(() => scratch.remove())

test("an agent's hook under core.hooksPath=.githooks does not run when the user commits in its worktree", async () => {
  scratch.git('config', 'core.hooksPath', '.githooks')
  const task = await newWorktree()
  await plant(task, '.githooks/pre-commit')
  commitIn(task)

  expect(await ran()).toBe('')
})

test('nor does one under a hooks folder that is set later, in any file of the user', async () => {
  const task = await newWorktree()
  await plant(task, '.husky/_/pre-commit')
  scratch.git('config', 'core.hooksPath', '.husky/_')
  scratch.gitIn(task.path, 'config', '--global', 'core.hooksPath', '.husky/_')
  commitIn(task)

  expect(await ran()).toBe('')
})

test("a hook of the user's that takes its orders from the worktree does not run there, and runs in the user's checkout", async () => {
  await scratch.write('.git/hooks/pre-commit', '#!/bin/sh\nsh tools/check.sh\n')
  await chmod(join(scratch.checkout, '.git/hooks/pre-commit'), 0o755)
  await scratch.write('tools/check.sh', `echo user >> '${scratch.home}/ran'\n`)
  scratch.commit('with a check')
  expect(await ran()).toBe('user\n')
  const task = await newWorktree()
  await plant(task, 'tools/check.sh')
  commitIn(task)
  expect(await ran()).toBe('user\n')
  scratch.git('commit', '--allow-empty', '-m', 'again')

  expect(await ran()).toBe('user\nuser\n')
})

test("a filter or a monitor that the user keeps in the repository does not run in the agent's version", async () => {
  scratch.git('config', 'filter.tidy.clean', 'sh tools/clean.sh')
  scratch.git('config', 'diff.tidy.textconv', './tools/clean.sh')
  scratch.git('config', 'diff.show.command', 'sh tools/clean.sh')
  scratch.git('config', 'core.fsmonitor', 'tools/clean.sh')
  const task = await newWorktree()
  await plant(task, 'tools/clean.sh')
  await writeFile(join(task.path, '.gitattributes'), '* filter=tidy diff=tidy\n*.ts diff=show\n')
  await writeFile(join(task.path, 'readme.md'), 'changed\n')
  await writeFile(join(task.path, 'src/date.ts'), 'export const day = 2\n')
  scratch.gitIn(task.path, 'status')
  const shown = scratch.gitIn(task.path, 'diff')
  expect(shown).toContain('+changed')
  expect(shown).toContain('+export const day = 2')
  commitIn(task)

  expect(await ran()).toBe('')
})

test('worktrees that an earlier version made are isolated when they are opened again', async () => {
  scratch.git('config', 'core.hooksPath', '.githooks')
  const task = await newWorktree()
  await writeFile(join(scratch.checkout, '.git/worktrees', task.taskId, 'config.worktree'), '')
  scratch.git('config', '--unset', 'extensions.worktreeConfig')
  await (await scratch.open()).recover()
  await plant(task, '.githooks/pre-commit')
  commitIn(task)

  expect(await ran()).toBe('')
})

test.each(['unset', 'false', 'twice'])(
  'a repository that no longer reads the settings of worktrees does so again (%s)',
  async (how) => {
    scratch.git('config', 'core.hooksPath', '.githooks')
    const task = await newWorktree()
    scratch.git('config', '--unset', 'extensions.worktreeConfig')
    if (how !== 'unset') scratch.git('config', 'extensions.worktreeConfig', 'false')
    if (how === 'twice') scratch.git('config', '--add', 'extensions.worktreeConfig', 'no')
    await (await scratch.open()).recover()
    await plant(task, '.githooks/pre-commit')
    commitIn(task)

    expect(await ran()).toBe('')
  },
)

test("a bare repository stays bare, and the user's own worktrees of it keep working", async () => {
  const bare = join(scratch.home, 'bare.git')
  scratch.git('clone', '--quiet', '--bare', scratch.checkout, bare)
  const mine = join(scratch.home, 'mine')
  scratch.gitIn(bare, 'worktree', 'add', '--quiet', mine, '-b', 'mine')
  const worktrees = await scratch.open({ repository: bare })
  const task = await worktrees.create({ taskId: newId(), title: 'Dates', baseBranch: 'trunk' })

  expect(scratch.gitIn(bare, 'rev-parse', '--is-bare-repository')).toBe('true')
  expect(scratch.gitIn(mine, 'status', '--porcelain')).toBe('')
  expect(scratch.gitIn(task.path, 'status', '--porcelain')).toBe('')
  expect(await readFile(join(bare, 'config'), 'utf8')).not.toMatch(/bare = true/)
})

test('commands that name a file of the repository are told from those of the machine', () => {
  const inside = ['./clean.sh', 'sh tools/clean.sh', 'node clean.mjs %f', '"tools/x" %O %A %B', 'env A=b ../x/y']
  const outside = ['git-lfs clean -- %f', '/usr/bin/tidy', '~/bin/tidy', 'jq .', 'nbstripout', 'git-crypt clean', '']

  expect(inside.filter((command) => !isRelative(command))).toEqual([])
  expect(outside.filter(isRelative)).toEqual([])
})

async function newWorktree(): Promise<Worktree> {
  return (await scratch.open()).create({ taskId: newId(), title: 'Dates', baseBranch: 'trunk' })
}

async function plant(task: Worktree, path: string): Promise<void> {
  const file = join(task.path, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `#!/bin/sh\necho agent >> '${scratch.home}/ran'\ncat\n`)
  await chmod(file, 0o755)
}

function commitIn(task: Worktree): void {
  scratch.gitIn(task.path, 'add', '--all')
  scratch.gitIn(task.path, 'commit', '--quiet', '-m', 'by the user')
}

function ran(): Promise<string> {
  return readFile(join(scratch.home, 'ran'), 'utf8').catch(() => '')
}
