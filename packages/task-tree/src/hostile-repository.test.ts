import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
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

test('no program that the repository names runs, whatever is done with it', async () => {
  await scratch.write('.gitattributes', '* filter=evil diff=evil merge=evil\n')
  scratch.commit('attributes')
  await nameProgramsEverywhere()
  const worktrees = await scratch.open()
  await useEverything(worktrees)

  expect(await ran()).toEqual([])
})

test("no program runs that an agent names in its worktree, in git's folder for it, or in a repository inside", async () => {
  const worktrees = await scratch.open()
  const { taskId, path } = await worktrees.create({ taskId: newId(), title: 'x', baseBranch: 'trunk' })
  const evil = await evilGitDir('elsewhere.git')
  const admin = join(scratch.checkout, '.git/worktrees', taskId)
  await writeFile(join(path, '.git'), `gitdir: ${evil}\n`)
  await writeFile(join(admin, 'commondir'), evil)
  await writeFile(join(admin, 'config.worktree'), await evilConfig())
  await writeFile(join(path, '.gitattributes'), '* filter=evil diff=evil\n')
  await mkdir(join(path, 'nested/.git'), { recursive: true })
  scratch.gitIn(join(path, 'nested'), 'init', '--quiet')
  await writeFile(join(path, 'nested/.git/config'), await evilConfig())
  await writeFile(join(path, 'nested/file'), 'x')
  await writeFile(join(path, 'new'), 'work')

  const snapshot = await worktrees.snapshot(taskId, 'x')
  expect(scratch.git('show', `${snapshot?.commit}:new`)).toBe('work')
  await worktrees.list()
  await worktrees.remove({ taskId, discardNested: true, deleteBranch: true })
  expect(await ran()).toEqual([])
})

test('a submodule with programs of its own is not asked anything', async () => {
  const other = await scratchRepository({ name: 'other' })
  scratch.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.checkout, 'sub')
  scratch.commit('submodule')
  const worktrees = await scratch.open()
  const { taskId, path } = await worktrees.create({ taskId: newId(), title: 'x', baseBranch: 'trunk' })
  scratch.gitIn(path, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'update', '--init')
  const config = join(scratch.checkout, '.git/worktrees', taskId, 'modules/sub/config')
  await writeFile(config, await evilConfig())
  await writeFile(join(path, 'sub/readme.md'), 'changed')
  await writeFile(join(path, 'new'), 'work')
  await worktrees.snapshot(taskId, 'x')

  await expect(worktrees.remove({ taskId })).rejects.toMatchObject({
    code: 'WORKTREE_UNSAVED',
    message: expect.stringContaining('sub/'),
  })
  expect(await ran()).toEqual([])
  await other.remove()
})

test('a missing object is not fetched through whatever the repository calls a remote', async () => {
  const blob = scratch.git('rev-parse', 'HEAD:readme.md')
  await rm(join(scratch.checkout, '.git/objects', blob.slice(0, 2), blob.slice(2)))
  const program = await evilProgram('transport')
  const settings = {
    'remote.origin.url': `ext::${program}`,
    'remote.origin.promisor': 'true',
    'extensions.partialClone': 'origin',
  }
  for (const [name, value] of Object.entries({
    ...settings,
    'core.repositoryFormatVersion': '1',
    'protocol.ext.allow': 'always',
  }))
    scratch.git('config', name, value)
  const worktrees = await scratch.open()

  await expect(worktrees.create({ taskId: newId(), title: 'x', baseBranch: 'trunk' })).rejects.toMatchObject({
    code: 'GIT_FAILED',
  })
  expect(await worktrees.list()).toEqual([])
  expect(await ran()).toEqual([])
})

async function useEverything(worktrees: Worktrees): Promise<void> {
  const { taskId, path, branch } = await worktrees.create({ taskId: newId(), title: 'x', baseBranch: 'trunk' })
  await writeFile(join(path, 'readme.md'), 'changed\n')
  await writeFile(join(path, 'new'), 'work')
  const snapshot = await worktrees.snapshot(taskId, 'x')
  await worktrees.restore(snapshot?.name ?? '', join(scratch.home, 'restored'))
  const clean = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'commit.gpgSign=false']
  const noFilter = [
    '-c',
    'filter.evil.clean=',
    '-c',
    'filter.evil.process=',
    '-c',
    'filter.evil.smudge=',
    '-c',
    'filter.evil.required=false',
  ]
  scratch.gitIn(path, ...clean, ...noFilter, 'add', '--all')
  scratch.gitIn(path, ...clean, ...noFilter, 'commit', '--quiet', '-m', 'work')
  scratch.gitIn(path, ...clean, 'update-ref', 'refs/heads/base', 'trunk')
  await rm(join(scratch.home, 'ran'), { recursive: true, force: true })

  await worktrees.changes({ branch, baseBranch: 'trunk', withHunks: true })
  await worktrees.merge({ branch, baseBranch: 'base', how: 'merge' })
  await worktrees.merge({ branch, baseBranch: 'trunk', how: 'squash', updateCheckout: true }).catch((error) => {
    expect(error).toMatchObject({ code: 'BRANCH_CHECKED_OUT' })
  })
  await writeFile(join(path, 'readme.md'), 'changed again\n')
  await worktrees.list()
  await worktrees.findStale([])
  await worktrees.remove({ taskId, deleteBranch: true })
  await worktrees.snapshots()
}

/** Everything in git's configuration that names a program. */
async function evilConfig(): Promise<string> {
  const at = (name: string) => evilProgram(name)
  return `[core]
	repositoryFormatVersion = 1
	bare = false
	fsmonitor = ${await at('fsmonitor')}
	hooksPath = ${join(scratch.home, 'evil/hooks')}
	sshCommand = ${await at('ssh')}
	pager = ${await at('pager')}
	editor = ${await at('editor')}
	askPass = ${await at('askpass')}
	gitProxy = ${await at('proxy')}
	alternateRefsCommand = ${await at('alternates')}
	attributesFile = ${join(scratch.home, 'evil/attributes')}
[filter "evil"]
	clean = ${await at('clean')}
	smudge = ${await at('smudge')}
	process = ${await at('process')}
	required = true
[diff]
	external = ${await at('external')}
[diff "evil"]
	command = ${await at('command')}
	textconv = ${await at('textconv')}
[merge "evil"]
	driver = ${await at('driver')} %O %A %B
[commit]
	gpgSign = true
[gpg]
	program = ${await at('gpg')}
[credential]
	helper = ${await at('credential')}
[extensions]
	worktreeConfig = true
`
}

async function nameProgramsEverywhere(): Promise<void> {
  for (const name of [
    'post-checkout',
    'reference-transaction',
    'post-index-change',
    'pre-merge-commit',
    'post-merge',
    'pre-auto-gc',
  ]) {
    await evilProgram(`hooks/${name}`)
    await scratch.write(`.git/hooks/${name}`, `#!/bin/sh\nexec ${join(scratch.home, 'evil/hooks', name)}\n`)
    await chmod(join(scratch.checkout, '.git/hooks', name), 0o755)
  }
  await writeFile(join(scratch.home, 'evil/attributes'), '* filter=evil diff=evil merge=evil\n')
  await writeFile(join(scratch.home, 'evil/included'), await evilConfig())
  await writeFile(
    join(scratch.checkout, '.git/config'),
    `${await evilConfig()}[include]\n\tpath = ${scratch.home}/evil/included\n`,
  )
  await writeFile(
    join(scratch.checkout, '.git/config.worktree'),
    (await evilConfig()).replace('[extensions]\n\tworktreeConfig = true\n', ''),
  )
}

async function evilGitDir(name: string): Promise<string> {
  const path = join(scratch.home, name)
  scratch.gitIn(scratch.home, 'clone', '--quiet', '--bare', scratch.checkout, path)
  await writeFile(join(path, 'config'), await evilConfig())
  return path
}

async function evilProgram(name: string): Promise<string> {
  const path = join(scratch.home, 'evil', name)
  await mkdir(join(path, '..'), { recursive: true })
  const mark = join(scratch.home, 'ran', name.replace('/', '-'))
  await writeFile(path, `#!/bin/sh\nmkdir -p '${scratch.home}/ran'\ntouch '${mark}'\ncat\n`)
  await chmod(path, 0o755)
  return path
}

async function ran(): Promise<string[]> {
  return readdir(join(scratch.home, 'ran')).catch(() => [])
}
