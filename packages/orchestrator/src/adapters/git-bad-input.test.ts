import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type GitStage, openGitStage, type StagedTask } from './git-stage.testing.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 })

let stage: GitStage
let task: StagedTask
let refs: string
beforeEach(async () => {
  stage = await openGitStage()
  task = await stage.task()
  refs = allRefs()
})
afterEach(() => stage.close())

const commitObject = `tree=$(git write-tree) && commit() {
  printf 'tree %s\\n%sauthor A <a@b> 1 +0000\\ncommitter A <a@b> 1 +0000\\n\\n%s\\n' "$1" "$2" "$3" | git hash-object -t commit -w --stdin --literally
}`

test.each([
  [
    'a file of 520 MB',
    'truncate -s 520M "a big one" && git add . && git commit -qm big',
    'a big one has 520 MB, and no file above 512 MB is taken over',
  ],
  [
    'a tree that is not there',
    `${commitObject}; git update-ref HEAD $(commit 1111111111111111111111111111111111111111 "" x)`,
    '',
  ],
  [
    'a parent that is not there',
    `${commitObject}; git update-ref HEAD $(commit $tree "parent 2222222222222222222222222222222222222222
" x)`,
    '',
  ],
  [
    'a commit that is no commit',
    'printf rubbish > r; id=$(git hash-object -w r); printf "%s\\n" $id > "$(git rev-parse --git-dir)/$(git symbolic-ref HEAD)"',
    '',
  ],
  [
    'a .git inside a tree',
    `blob=$(git hash-object -w readme.md); sub=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree)
    git update-ref HEAD $(git commit-tree -m x -p HEAD $(printf '040000 tree %s\\t.git\\n' $sub | git mktree))`,
    'hasDotgit',
  ],
  [
    'a .GIT for file systems that take it for .git',
    `blob=$(git hash-object -w readme.md); sub=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree)
    git update-ref HEAD $(git commit-tree -m x -p HEAD $(printf '040000 tree %s\\tGIT~1\\n' $sub | git mktree))`,
    'hasDotgit',
  ],
  [
    'a .gitmodules that is a link',
    `blob=$(printf readme.md | git hash-object -w --stdin)
    git update-ref HEAD $(git commit-tree -m x -p HEAD $(printf '120000 blob %s\\t.gitmodules\\n' $blob | git mktree))`,
    'gitmodulesSymlink',
  ],
  [
    'a submodule whose address is an option',
    `printf '[submodule "x"]\\n\\tpath = x\\n\\turl = -u./evil\\n' > .gitmodules && git add .gitmodules && git commit -qm x`,
    'gitmodulesUrl',
  ],
  [
    'an object that was changed after it was written',
    `echo x > x && git add x && git commit -qm x && cd "$(git rev-parse --git-dir)/objects" &&
    f=$(ls -d ??/* | head -1) && chmod u+w $f && printf broken > $f && for f in ??/*; do chmod u+w $f; printf broken > $f; done`,
    '',
  ],
])('%s is not taken over: the branch stays, the error says why, and the agent can go back', async (_, command, why) => {
  const before = stage.scratch.git('rev-parse', task.branch)
  await task.shell(command)

  const status = await stage.worktrees.sync(task.taskId)
  expect(status?.refused).toMatchObject({ code: 'COMMIT_REFUSED', message: expect.stringContaining(why) })
  await expect(stage.worktrees.settle(task.taskId)).rejects.toMatchObject({ code: 'COMMIT_REFUSED' })
  expect(allRefs()).toBe(refs)
  expect(await leftovers()).toEqual([])
  stage.scratch.git('fsck', '--strict')

  await task.run(
    `printf '%s\\n' ${before} > "$(git rev-parse --git-dir)/$(git symbolic-ref HEAD)" && git read-tree --reset HEAD`,
  )
  expect((await stage.worktrees.sync(task.taskId))?.refused).toBeUndefined()
})

test('a history without any parent of ours and a gitlink are the right of the agent, and complete', async () => {
  await task.run(`git update-ref HEAD $(git commit-tree -m orphan $(git write-tree)) &&
    git update-index --add --cacheinfo 160000,3333333333333333333333333333333333333333,sub && git commit -qm gitlink`)
  await stage.worktrees.settle(task.taskId)

  expect(task.log()).toEqual(['gitlink', 'orphan'])
  stage.scratch.git('fsck', '--strict')
})

test("other branches of the git directory, replaced refs, grafts and a shallow file move nothing but the task's branch", async () => {
  await task.run(`set -e; cd "$(git rev-parse --git-dir)"; export GIT_DIR=$PWD
    new=$(git commit-tree -m evil -p HEAD HEAD^{tree}); git update-ref refs/heads/trunk $new; git update-ref refs/mxd/x $new
    git replace HEAD $new; echo $new > shallow; git rev-parse HEAD > info/grafts; git update-ref HEAD $new`)
  await stage.worktrees.sync(task.taskId)

  expect(allRefs().replaceAll(stage.scratch.git('rev-parse', task.branch), '')).toBe(
    refs.replaceAll(/[0-9a-f]{40} (?=refs\/heads\/mxd)/g, ' '),
  )
  expect(task.log()).toEqual(['evil', 'first'])
})

test.each([
  ['HEAD is a link', 'rm HEAD && ln -s /etc/hostname HEAD'],
  ['HEAD is a FIFO', 'rm HEAD && mkfifo HEAD'],
  ['HEAD is huge', 'truncate -s 3G HEAD 2>/dev/null || truncate -s 1G HEAD'],
  ['the refs lead out', 'rm -rf refs packed-refs && ln -s / refs'],
  ['the branch is a FIFO', 'rm -rf refs/heads/mxd && mkfifo refs/heads/mxd'],
  ['the index is rubbish', 'head -c 100000 /dev/urandom > index'],
  ['the index is a folder', 'rm index && mkdir -p index/x'],
  ['the objects are borrowed from elsewhere', 'echo /nowhere > objects/info/alternates'],
  ['everything is gone', 'rm -rf ./* 2>/dev/null; true'],
])(
  'where %s, the daemon neither hangs nor writes elsewhere, and the work is saved when the worktree goes',
  async (_, command) => {
    await task.run(`echo work > work && cd "$(git rev-parse --git-dir)" && ${command}`)
    const before = await stage.scratch.fingerprint()
    const status = await stage.worktrees.sync(task.taskId)

    expect(status).toBeDefined()
    await stage.worktrees.commit({ taskId: task.taskId, message: 'x' }).catch(() => undefined)
    await stage.worktrees.remove({ taskId: task.taskId, deleteBranch: true, baseBranch: 'trunk' })
    expect(await stage.scratch.fingerprint()).toBe(before)
    const [saved] = await stage.worktrees.snapshots(task.taskId)
    expect(stage.scratch.git('show', `${saved?.commit}:work`)).toBe('work')
  },
)

test('a damaged index is made anew by the next thing that Matrix does to the branch', async () => {
  await task.run('echo work > work && head -c 1000 /dev/urandom > "$(git rev-parse --git-dir)/index"')
  await stage.worktrees.commit({ taskId: task.taskId, message: 'x' })

  expect(await task.run('git status --porcelain && git log -1 --format=%s')).toBe('x')
})

test('no program that the agent names in its git directory runs outside of its sandbox', async () => {
  const mark = join(stage.scratch.home, 'mark')
  await task.run(`set -e; cd "$(git rev-parse --git-dir)"; export GIT_DIR=$PWD
    printf '#!/bin/sh\\ntouch ${mark}\\n' > evil; chmod +x evil; mkdir -p hooks; for h in pre-commit reference-transaction post-checkout; do cp evil hooks/$h; done
    git config core.fsmonitor $PWD/evil; git config core.hooksPath $PWD/hooks; git config filter.x.clean $PWD/evil; git config filter.x.process $PWD/evil
    git config core.alternateRefsCommand $PWD/evil; git config uploadpack.packObjectsHook $PWD/evil; git config diff.external $PWD/evil; git config core.sshCommand $PWD/evil`)
  await task.shell(
    `echo '* filter=x' > .gitattributes; echo y > y; git -c core.hooksPath=/dev/null add -A; git -c core.hooksPath=/dev/null commit -qm y`,
  )
  await stage.worktrees.sync(task.taskId)
  await task.run('echo z > z')
  await stage.worktrees.commit({ taskId: task.taskId, message: 'z' })
  await stage.worktrees.remove({ taskId: task.taskId, deleteBranch: true, baseBranch: 'trunk' })

  expect(existsSync(mark)).toBe(false)
})

test("the user's repository cannot be written from the sandbox, and of it only objects can be seen", async () => {
  stage.scratch.git('config', 'remote.origin.url', 'https://token@example.com/x')
  stage.scratch.git('branch', 'private')
  const { gitDir } = stage.worktrees.repository
  const seen = await task.run(
    `ls -A ${gitDir}; git branch --list --format='%(refname:short)'; git config --list; git stash list`,
  )

  expect(seen.split('\n')[0]).toBe('objects')
  expect(seen).not.toMatch(/private|token|example\.com\/x/)
  expect((await task.shell(`touch ${gitDir}/objects/x || touch ${gitDir}/x`)).output).toMatch(/Read-only file system/)
})

function allRefs(): string {
  return stage.scratch.git('for-each-ref', '--format=%(objectname) %(refname)')
}

async function leftovers(): Promise<string[]> {
  const names = await readdir(join(stage.worktrees.repository.gitDir, 'objects'))
  return names.filter((name) => name.startsWith('tmp_'))
}
