import { execFileSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type ScratchRepository, scratchRepository } from '@matrix/task-tree/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openGitStage } from './git-stage.testing.ts'

vi.setConfig({ testTimeout: 180_000 })

/** What people type on an ordinary day, in an order in which all of it makes sense. */
const commands = `
git status
git status --short --branch
git log --oneline
git log -1 --format=%an,%ae,%s
git show --stat
git ls-files
git branch
git diff trunk
git describe --tags --always
echo one > one.txt
git status --porcelain
git add one.txt
git diff --cached
git commit -m "add one"
echo two >> one.txt
git diff
git diff --stat
git commit -am "change one"
git commit --amend -m "change one well"
git log --oneline --graph
git show HEAD:one.txt
git blame one.txt
git mv one.txt 1.txt
git status --short
git commit -m "rename"
git log --follow --oneline 1.txt
echo three > three.txt
git stash --include-untracked
git stash list
git stash show -p --include-untracked
git stash pop
rm three.txt
echo broken > readme.md
git restore readme.md
echo broken > readme.md
git checkout -- readme.md
git switch -c topic
echo topic > topic.txt && git add -A && git commit -m topic
git switch -
git merge topic --no-ff -m "merge topic"
git log --oneline --graph
git reset --hard HEAD~1
git cherry-pick topic
git revert --no-edit HEAD
git tag v1.0
git tag -a v1.1 -m "version 1.1"
git describe
git notes add -m "a note" HEAD
git notes show
git switch -c base HEAD~2 && echo base > base.txt && git add -A && git commit -m base && git switch -
git rebase base
git rebase --onto trunk base
git log --format=%s
echo a > clash && git add -A && git commit -m "clash a" && git switch -c other HEAD~1 && echo b > clash && git add -A && git commit -m "clash b" && git switch -
git merge other
git status
git merge --abort
git rebase other
git rebase --skip
git reflog -3 --format=%gs
git bisect start HEAD trunk
git bisect run true
git bisect reset
touch junk && git clean -nfd && git clean -fd
git rm --cached topic.txt
git reset
git submodule status
git shortlog -sn HEAD
git grep -n one
git archive HEAD | tar -t
git format-patch -1 --stdout
git fsck --no-dangling
git gc --quiet
git rev-parse --abbrev-ref HEAD
git rev-parse --is-inside-work-tree --show-prefix
git config user.name
git cat-file -p HEAD
git rev-list --count HEAD
git diff --name-status trunk HEAD
git branch -D topic base other
git status`
  .trim()
  .split('\n')

const kinds: Record<string, (scratch: ScratchRepository) => Promise<void> | void> = {
  'an ordinary repository': () => {},
  'packed refs and objects, with tags': (scratch) => {
    scratch.git('tag', '-a', 'v0.9', '-m', 'nine')
    scratch.git('gc', '--quiet')
  },
  'core.autocrlf and files without modes': async (scratch) => {
    scratch.git('config', 'core.autocrlf', 'input')
    scratch.git('config', 'core.fileMode', 'false')
  },
  'a submodule and a filter that is not configured': async (scratch) => {
    await scratch.write('.gitattributes', '*.bin filter=lfs diff=lfs merge=lfs -text\n')
    await scratch.write('.gitmodules', '[submodule "sub"]\n\tpath = sub\n\turl = https://example.com/sub\n')
    await scratch.write('model.bin', 'version https://git-lfs.github.com/spec/v1\n')
    scratch.git('update-index', '--add', '--cacheinfo', '160000,1111111111111111111111111111111111111111,sub')
    scratch.git('add', '.gitattributes', '.gitmodules', 'model.bin')
    scratch.git('commit', '--quiet', '-m', 'odd files')
    await mkdir(join(scratch.checkout, 'sub'))
  },
  'object names by SHA-256': (scratch) => {
    execFileSync('rm', ['-r', join(scratch.checkout, '.git')])
    scratch.git('init', '--quiet', '--template=', '--object-format=sha256', '-b', 'trunk')
    scratch.commit('first')
  },
  'a shallow clone': async (scratch) => {
    await scratch.write('readme.md', 'second\n')
    scratch.commit('second')
    execFileSync('mv', [join(scratch.checkout, '.git'), join(scratch.home, 'origin.git')])
    const origin = `file://${scratch.home}/origin.git`
    scratch.gitIn(scratch.home, 'clone', '--quiet', '--depth=1', '--no-checkout', origin, 'shallow')
    execFileSync('mv', [join(scratch.home, 'shallow/.git'), scratch.checkout])
    scratch.git('remote', 'remove', 'origin')
    scratch.git('reset', '--quiet')
  },
  'objects that are borrowed from another repository': (scratch) => {
    execFileSync('mv', [join(scratch.checkout, '.git'), join(scratch.home, 'origin.git')])
    scratch.gitIn(scratch.home, 'clone', '--quiet', '--shared', '--no-checkout', 'origin.git', 'shared')
    execFileSync('mv', [join(scratch.home, 'shared/.git'), scratch.checkout])
    scratch.git('config', '--unset', 'remote.origin.url')
  },
}

test.each(Object.entries(kinds))('git says and does the same in the sandbox as outside: %s', async (_, prepare) => {
  const scratch = await scratchRepository()
  await prepare(scratch)
  const stage = await openGitStage({ scratch })
  onTestFinished(() => stage.close())
  await compare(stage)
})

async function compare({ scratch, task, worktrees }: Awaited<ReturnType<typeof openGitStage>>): Promise<void> {
  const inside = await task()
  const outside = join(scratch.home, 'outside')
  scratch.gitIn(scratch.home, 'clone', '--quiet', '--branch', inside.branch, scratch.checkout, outside)
  scratch.gitIn(outside, 'branch', '--quiet', '--no-track', 'trunk', 'origin/trunk')
  scratch.gitIn(outside, 'remote', 'remove', 'origin')
  for (const setting of ['core.autocrlf', 'core.fileMode']) {
    const value = scratch.git('config', '--default', '', setting)
    if (value) scratch.gitIn(outside, 'config', setting, value)
  }
  const steps = commands.map((command, turn) => {
    const date = `'@${1_700_000_000 + turn} +0000'`
    return `echo '==> ${turn}'; export GIT_AUTHOR_DATE=${date} GIT_COMMITTER_DATE=${date}; { ${command}; } 2>&1; echo "exit $?"`
  })
  const script = `export GIT_EDITOR=true GIT_PAGER=cat\n${steps.join('\n')}`
  const env = { PATH: process.env.PATH, HOME: scratch.home, GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C.UTF-8' }
  const there = execFileSync('/bin/sh', ['-c', script], { cwd: outside, env, encoding: 'utf8', maxBuffer: 1024 ** 3 })
  const here = (await inside.shell(script)).output
  await worktrees.settle(inside.taskId)

  expect(answersOf(here)).toEqual(answersOf(there))
  expect(scratch.git('rev-parse', inside.branch)).toBe(scratch.gitIn(outside, 'rev-parse', 'HEAD'))
}

/** What each command said. */
function answersOf(output: string): Record<string, string> {
  const parts = output.split(/^==> \d+$/m).slice(1)
  return Object.fromEntries(parts.map((part, turn) => [commands[turn], part.trim()]))
}
