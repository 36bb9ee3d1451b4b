import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GitStage, openGitStage, type StagedTask } from './git-stage.testing.ts'

let stage: GitStage
beforeAll(async () => {
  stage = await openGitStage()
})
afterAll(() => stage.close())

const FILES = 2000

/** Swaps the folder `d` for the link `e` again and again, as fast as a shell can, until it is told to stop. */
const swapping = `
while [ ! -e stop ]; do
  mv -T d f && mv -T e d; sleep 0.0$((RANDOM % 9 + 1)); mv -T d e && mv -T f d; sleep 0.0$((RANDOM % 9 + 1))
done`

/** A folder of the user's that no sandbox has, and a link to it beside a folder with as many files as git needs time for. */
async function prepare(name: string): Promise<{ task: StagedTask; outside: string }> {
  const outside = join(stage.scratch.home, name)
  mkdirSync(outside, { mode: 0o777 })
  const task = await stage.task(name)
  await task.run(`ln -s ${outside} e && printf '/e\\n/f\\n/stop\\n' > .gitignore && mkdir d && echo kept > d/kept`)
  return { task, outside }
}

async function duringSwaps(task: StagedTask, act: () => Promise<unknown>): Promise<void> {
  const swaps = task.shell(`bash -c '${swapping}'`)
  await act().catch(() => undefined)
  await task.run('touch stop')
  await swaps
  await task.run('rm stop; [ -L e ] || { mv -T d e; mv -T f d; }')
}

test('what a commit reads lies in the worktree, whatever is swapped for a link meanwhile', async () => {
  const { task, outside } = await prepare('secrets')
  for (let each = 0; each < FILES; each++) writeFileSync(join(outside, `a${each}`), `the key of the user ${each}\n`)

  for (let round = 0; round < 6; round++) {
    await task.run(`cd d && for i in $(seq 0 ${FILES - 1}); do echo "decoy ${round} $i" > a$i; done`)
    await duringSwaps(task, () => stage.worktrees.commit({ taskId: task.taskId, message: `round ${round}` }))
    await stage.worktrees.commit({ taskId: task.taskId, message: `rest ${round}` })
  }

  expect(stage.scratch.git('log', '--all', '--format=%s', '-G', 'key of the user')).toBe('')
}, 120_000)

test('what an update writes lies in the worktree, whatever is swapped for a link meanwhile', async () => {
  const { task, outside } = await prepare('home')
  await stage.worktrees.commit({ taskId: task.taskId, message: 'a folder' })
  const other = await stage.task('other', task.branch)
  await other.run(`mkdir -p d && cd d && for i in $(seq 1 ${FILES}); do head -c 4000 /dev/urandom > a$i; done`)
  await stage.worktrees.commit({ taskId: other.taskId, message: 'many files' })

  for (let round = 0; round < 3; round++)
    await duringSwaps(task, async () => {
      await stage.worktrees.update({ taskId: task.taskId, from: other.branch })
    })

  expect(readdirSync(outside)).toEqual([])
  expect(existsSync(join(outside, 'a1'))).toBe(false)
}, 120_000)
