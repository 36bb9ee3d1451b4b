import { existsSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type GitStage, openGitStage } from './git-stage.testing.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let stage: GitStage
beforeEach(async () => {
  stage = await openGitStage()
})
afterEach(() => stage.close())

test("an agent commits with git in its shell, and the commit is on its task's branch", async () => {
  const task = await stage.task()
  await task.run('echo more >> readme.md && git add readme.md && git commit --quiet -m "say more"')

  expect(stage.worktrees.hasMoved(task.taskId)).toBe(true)
  expect(await stage.worktrees.sync(task.taskId)).toMatchObject({ drift: undefined, refused: undefined })
  expect(stage.worktrees.hasMoved(task.taskId)).toBe(false)
  expect(task.log()).toEqual(['say more', 'first'])
  expect(stage.scratch.git('log', '-1', '--format=%an <%ae>', task.branch)).toBe('Ada <ada@example.com>')
  expect(stage.scratch.gitIn(task.path, '-c', 'safe.directory=*', 'status', '--porcelain')).toBe('')
})

test('amend, stash, restore, mv, rm, rebase, cherry-pick, merge, reset, tags and notes work in the shell', async () => {
  const task = await stage.task()
  await task.run(`
    set -e
    echo one > one && git add one && git commit -qm one
    echo uno > one && git commit -q --all --amend -m uno
    echo half > half && git add half && git stash -q && test ! -e half && git stash pop -q && test -e half
    git restore --staged half && rm half
    echo broken > readme.md && git restore readme.md && git checkout -q -- readme.md && grep -q hello readme.md
    git mv one two && git rm -q .gitignore && git commit -qm moved
    git switch -qc side HEAD~1 && echo side > side && git add side && git commit -qm side
    git switch -q - && git cherry-pick side >/dev/null
    git rebase -q --onto HEAD~2 HEAD~1
    git merge -q --no-edit side && git tag -am v1 v1 && git describe && git notes add -m note
    git reset -q --soft HEAD && git clean -qfd && git submodule status && git worktree list && git blame readme.md >/dev/null
    git bisect start HEAD trunk >/dev/null && git bisect good >/dev/null && git bisect reset >/dev/null 2>&1
    git branch -qD side && test -z "$(git status --porcelain)"
  `)
  await stage.worktrees.sync(task.taskId)

  const inside = await task.run('git rev-parse HEAD')
  expect(stage.scratch.git('rev-parse', task.branch)).toBe(inside)
  expect(stage.scratch.git('for-each-ref', '--format=%(refname)').split('\n')).toEqual([
    `refs/heads/${task.branch}`,
    'refs/heads/trunk',
  ])
  stage.scratch.git('fsck', '--strict')
})

test('what Matrix commits, merges and updates is what git in the shell has next', async () => {
  const task = await stage.task()
  await task.run('echo by the tool > tool')
  await stage.worktrees.commit({ taskId: task.taskId, message: 'by the tool' })

  expect(await task.run('git log -1 --format=%s && git status --porcelain')).toBe('by the tool')
  await stage.scratch.write('upstream', 'new')
  stage.scratch.commit('upstream')
  await stage.worktrees.update({ taskId: task.taskId, from: 'trunk' })
  expect(
    await task.run('git status --porcelain && cat upstream && git log -1 --format=%s && git log --format=%s -1 trunk'),
  ).toBe('newMerge trunk\nupstream')
})

test('a conflict that update_branch leaves is a merge in progress in the shell, which git or the commit tool ends', async () => {
  const ended = { 'with git': true, 'with the tool': false }
  for (const [how, withGit] of Object.entries(ended)) {
    const task = await stage.task(how)
    await task.run('echo mine > readme.md && git commit -qam mine')
    await stage.scratch.write('readme.md', `theirs ${how}\n`)
    stage.scratch.commit(`theirs ${how}`)
    const { taskId } = task
    expect(await stage.worktrees.update({ taskId, from: 'trunk' })).toEqual({
      outcome: 'conflict',
      files: ['readme.md'],
    })

    task.adopt()
    expect(await task.run('git status --porcelain')).toBe('UU readme.md')
    expect((await task.shell('git commit -m early')).output).toContain('you have unmerged files')
    await task.run('echo both > readme.md')
    if (withGit) await task.run('git add readme.md && git commit -q --no-edit')
    else await stage.worktrees.commit({ taskId, message: 'both' })
    await stage.worktrees.settle(taskId)
    expect(stage.scratch.git('show', `${task.branch}:readme.md`)).toBe('both')
    expect(await task.run('git status --porcelain')).toBe('')
    expect(stage.scratch.git('log', '-1', '--format=%P', task.branch)).toContain(' ')
  }
})

test('a merge that the agent aborts with its own git is over for Matrix as well', async () => {
  const task = await stage.task()
  await task.run('echo mine > readme.md && git commit -qam mine')
  await stage.scratch.write('readme.md', 'theirs\n')
  stage.scratch.commit('theirs')
  const { taskId } = task
  await stage.worktrees.update({ taskId, from: 'trunk' })
  task.adopt()
  await task.run('git merge --abort && echo more >> readme.md')
  await stage.worktrees.commit({ taskId, message: 'more' })

  expect(stage.scratch.git('log', '-1', '--format=%s %p', task.branch)).toMatch(/^more [0-9a-f]+$/)
})

test('a worktree on another branch is not committed, updated, merged into or ended, and the error says what to do', async () => {
  const task = await stage.task()
  const { taskId, branch } = task
  await task.run('git switch -qc tmp && echo x > x && git add x && git commit -qm x')

  expect(await stage.worktrees.sync(taskId)).toMatchObject({ branch, drift: { on: 'tmp' } })
  expect(task.log()).toEqual(['first'])
  const refused = {
    code: 'WORKTREE_DRIFTED',
    message: expect.stringContaining('on branch tmp'),
    hint: expect.stringContaining(`git switch ${branch}`),
  }
  await expect(stage.worktrees.commit({ taskId, message: 'y' })).rejects.toMatchObject(refused)
  await expect(stage.worktrees.update({ taskId, from: 'trunk' })).rejects.toMatchObject(refused)
  await expect(stage.worktrees.settle(taskId)).rejects.toMatchObject(refused)
  await expect(stage.worktrees.merge({ branch: 'trunk', baseBranch: branch, how: 'merge' })).rejects.toMatchObject(
    refused,
  )
  await task.run(`git switch -q ${branch} && git merge -q tmp`)
  await stage.worktrees.settle(taskId)
  expect(task.log()).toEqual(['x', 'first'])
})

test('a rebase, cherry-pick, bisect or merge in progress is named, with how to end it', async () => {
  const task = await stage.task()
  const { taskId } = task
  await task.run(`set -e
    echo a > readme.md && git commit -qam a && git branch other HEAD~1
    git switch -q other && echo b > readme.md && git commit -qam b && git switch -q -`)
  const states: [start: string, end: string, named: string][] = [
    ['git rebase other', 'git rebase --abort', 'rebase'],
    ['git cherry-pick other', 'git cherry-pick --abort', 'cherry-pick'],
    ['git merge other', 'git merge --abort', 'merge'],
    ['git bisect start', 'git bisect reset', 'bisect'],
  ]
  for (const [start, end, named] of states) {
    await task.shell(start)
    const refused = {
      code: 'GIT_UNFINISHED',
      message: expect.stringContaining(`A ${named} is in progress`),
      hint: expect.stringContaining(end),
    }
    await expect(stage.worktrees.commit({ taskId, message: 'x' })).rejects.toMatchObject(refused)
    await task.run(end)
    await stage.worktrees.settle(taskId)
  }
})

test('when a worktree goes, its stashes, other branches, detached commits and staged files are in the snapshot', async () => {
  const task = await stage.task()
  const { taskId, branch } = task
  await task.run(`set -e
    echo stashed-one > s1 && git add s1 && git stash -q && echo stashed-two > s2 && git add s2 && git stash -q
    git switch -qc side && echo side > side && git add side && git commit -qm side
    git switch -q ${branch} && git checkout -q --detach && echo lone > lone && git add lone && git commit -qm lone && git switch -q ${branch}
    echo staged > staged && git add staged && rm staged && echo loose > loose`)
  const { snapshot } = await stage.worktrees.remove({ taskId, deleteBranch: true, baseBranch: 'trunk' })

  const [saved] = await stage.worktrees.snapshots(taskId)
  expect(saved?.name).toBe(snapshot)
  const history = stage.scratch.git('log', '--format=', '--name-only', '-m', saved?.commit ?? '').split('\n')
  expect(history).toEqual(expect.arrayContaining(['s1', 's2', 'side', 'staged', 'loose']))
  expect(stage.scratch.git('branch', '--list', 'mxd/*')).toBe('')
  expect(existsSync(task.gitDir)).toBe(false)
})

test('commits that were not taken over before a restart are taken over after it', async () => {
  const task = await stage.task()
  await task.run('echo x > x && git add x && git commit -qm "just in time"')
  const again = await stage.open()

  expect(await again.recover()).toEqual([{ taskId: task.taskId, did: 'took over commits' }])
  expect(task.log()).toEqual(['just in time', 'first'])
})

test("the user's own commits on the branch reach the shell, and what both did is kept until the agent has settled it", async () => {
  const task = await stage.task()
  const { taskId, branch, path } = task
  const byUser = (name: string) => {
    const tree = stage.scratch.gitWith(
      `${stage.scratch.git('ls-tree', branch)}\n100644 blob ${stage.scratch.gitWith(name, 'hash-object', '-w', '--stdin')}\t${name}\n`,
      'mktree',
    )
    const commit = stage.scratch.git('commit-tree', '-p', branch, '-m', name, tree)
    stage.scratch.git('update-ref', `refs/heads/${branch}`, commit)
    return commit
  }
  byUser('user-one')
  await stage.worktrees.sync(taskId)
  expect(await task.run('git log -1 --format=%s')).toBe('user-one')

  await task.run('git checkout -q HEAD -- . && echo mine > mine && git add mine && git commit -qm mine')
  const theirs = byUser('user-two')
  expect(await stage.worktrees.sync(taskId)).toMatchObject({
    refused: { code: 'COMMIT_REFUSED', hint: expect.stringContaining(theirs.slice(0, 12)) },
  })
  expect(stage.scratch.git('rev-parse', branch)).toBe(theirs)
  await task.run(`git merge -q --no-edit ${theirs}`)
  await stage.worktrees.settle(taskId)
  expect(task.log()).toEqual(expect.arrayContaining(['mine', 'user-one', 'user-two']))
  expect(existsSync(`${path}/user-two`)).toBe(true)
})

test('with commitHooks the hooks of the repository run in the sandbox, in the shell and for the commit tool', async () => {
  const { scratch } = stage
  const hook = async (name: string, script: string) => {
    await scratch.write(`.git/hooks/${name}`, `#!/bin/sh\n${script}\n`)
    await chmod(join(scratch.checkout, '.git/hooks', name), 0o755)
  }
  await hook('pre-commit', `echo "looked, boxed=$MATRIX_BOXED"; ! git grep --cached -q FORBIDDEN`)
  await hook('commit-msg', 'echo "Signed-off-by: hook" >> "$1"')
  const skipping = await stage.task('without')
  await skipping.run('echo FORBIDDEN > x && git add x && git commit -qm x')
  expect((await stage.worktrees.commit({ taskId: skipping.taskId, message: 'none' })).hooks).toBeUndefined()

  const { taskId, run, shell, branch } = await (await openGitStage({ scratch, commitHooks: 'run' })).task('with')
  const worktrees = await stage.open({ commitHooks: async () => 'run' })
  await run('echo FORBIDDEN > x')
  await expect(worktrees.commit({ taskId, message: 'x' })).rejects.toMatchObject({
    code: 'COMMIT_REFUSED',
    message: expect.stringContaining('looked, boxed=1'),
  })
  expect((await shell('git add x && git commit -m x')).code).not.toBe(0)
  await run('echo fine > x')
  expect((await worktrees.commit({ taskId, message: 'x' })).hooks).toBe('looked, boxed=1')
  expect(scratch.git('log', '-1', '--format=%B', branch)).toBe('x\nSigned-off-by: hook')
  expect(await run('echo more > x && git commit -am y')).toContain('looked, boxed=1')
})
