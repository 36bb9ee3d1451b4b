import { execFileSync } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monotonicFactory } from 'ulid'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dyingProcess } from './dying-process.ts'
import { plainSandbox } from './plain-sandbox.testing.ts'
import { type ScratchRepository, scratchRepository } from './scratch-repository.ts'
import type { Worktrees } from './worktrees.ts'

// Every step takes minutes. Without the whole sweep some of them are tried.
const isWhole = process.env.MATRIX_CRASH_SWEEP === 'whole'
const stride = isWhole ? 1 : 5
const timeout = isWhole ? 3_600_000 : 120_000
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

describe("a process killed at any step, beside an agent's own git", () => {
  test('of making the git directory leaves nothing that keeps it from being made', { timeout }, async () => {
    await atEveryStep(create, async (worktrees, taskId) => {
      await create(worktrees, taskId)
      expect(agent(taskId, 'log', '-1', '--format=%s')).toBe('first')
      expect(agent(taskId, 'status', '--porcelain')).toBe('')
    })
  })

  test('of taking over a commit loses neither that commit nor its branch', { timeout }, async () => {
    await atEveryStep(
      (worktrees, taskId) => worktrees.sync(taskId),
      async (_, taskId) => {
        expect(scratch.git('log', '-2', '--format=%s', branchOf(taskId))).toBe('by the agent\nfirst')
        expect(scratch.gitIn(pathOf(taskId), 'status', '--porcelain')).toBe('')
        expect(agent(taskId, 'status', '--porcelain')).toBe('')
        scratch.git('fsck', '--strict')
      },
      async (worktrees, taskId) => {
        await create(worktrees, taskId)
        await commitByAgent(taskId)
      },
    )
  })

  test('of committing with the tool leaves git in the shell where the branch is', { timeout }, async () => {
    const commit = (worktrees: Worktrees, taskId: string) => worktrees.commit({ taskId, message: 'by the tool' })
    await atEveryStep(
      commit,
      async (worktrees, taskId) => {
        await commit(worktrees, taskId)
        expect(agent(taskId, 'log', '--format=%s')).toBe('by the tool\nby the agent\nfirst')
        expect(scratch.git('rev-parse', branchOf(taskId))).toBe(agent(taskId, 'rev-parse', 'HEAD'))
        expect(agent(taskId, 'status', '--porcelain')).toBe('')
      },
      async (worktrees, taskId) => {
        await create(worktrees, taskId)
        await commitByAgent(taskId)
        await writeFile(join(pathOf(taskId), 'tool'), 'tool')
      },
    )
  })

  test('of removing a worktree loses no stash and no other branch', { timeout }, async () => {
    const remove = (worktrees: Worktrees, taskId: string) =>
      worktrees.remove({ taskId, deleteBranch: true, baseBranch: 'trunk' })
    await atEveryStep(
      remove,
      async (worktrees, taskId) => {
        if ((await worktrees.list()).length > 0) await remove(worktrees, taskId)
        const [saved] = await worktrees.snapshots(taskId)
        const kept = scratch.git('log', '--format=', '--name-only', '-m', saved?.commit ?? '').split('\n')
        expect(kept).toEqual(expect.arrayContaining(['mine', 'side', 'stashed']))
        expect(await readdir(gitDirectory())).toEqual([])
      },
      async (worktrees, taskId) => {
        await create(worktrees, taskId)
        await commitByAgent(taskId)
        agent(taskId, 'branch', 'side')
        await writeFile(join(pathOf(taskId), 'stashed'), 'stashed')
        agent(taskId, 'stash', '--include-untracked')
        agent(taskId, 'switch', '-q', 'side')
        await writeFile(join(pathOf(taskId), 'side'), 'side')
        agent(taskId, 'add', 'side')
        agent(taskId, 'commit', '-qm', 'side')
        agent(taskId, 'switch', '-q', branchOf(taskId))
      },
    )
  })
})

type Act = (worktrees: Worktrees, taskId: string) => Promise<unknown>

/** Lets a process die at each of its steps, then checks what the next one makes of it. */
async function atEveryStep(act: Act, check: Act, prepare: Act = async () => {}): Promise<void> {
  const opening = dyingProcess()
  await open(opening)
  for (let step = 1; ; step += stride)
    for (const when of isWhole ? (['before', 'after'] as const) : ([step % 2 ? 'before' : 'after'] as const)) {
      const taskId = newId()
      await prepare(await open(), taskId)
      const dying = dyingProcess(opening.steps + step, when)
      await act(await open(dying), taskId).catch(() => {})
      const next = await open()
      await next.recover()
      await check(next, taskId).catch((error: Error) => {
        throw new Error(`died ${when} step ${step}: ${error.message}`, { cause: error })
      })
      expect(await leftovers()).toEqual([])
      if (await next.find(taskId)) await next.remove({ taskId, deleteBranch: true, baseBranch: 'trunk' })
      if (dying.steps < opening.steps + step) return
    }
}

function open(dying?: ReturnType<typeof dyingProcess>): Promise<Worktrees> {
  const sandbox = plainSandbox(gitDirectory())
  if (!dying) return scratch.open({ sandbox })
  return scratch.open({ disk: dying.disk, git: dying.git, sandbox: dying.inSandbox(sandbox) })
}

function create(worktrees: Worktrees, taskId: string) {
  return worktrees.create({ taskId, title: 'Some task', baseBranch: 'trunk' })
}

async function commitByAgent(taskId: string): Promise<void> {
  await writeFile(join(pathOf(taskId), 'mine'), 'mine')
  agent(taskId, 'add', 'mine')
  agent(taskId, 'commit', '-qm', 'by the agent')
}

function agent(taskId: string, ...args: string[]): string {
  const env = { PATH: process.env.PATH, GIT_DIR: join(gitDirectory(), taskId), GIT_WORK_TREE: pathOf(taskId) }
  return execFileSync('git', args, { cwd: pathOf(taskId), env, encoding: 'utf8' }).trim()
}

async function leftovers(): Promise<string[]> {
  const names = await readdir(join(scratch.checkout, '.git/objects'))
  return names.filter((name) => name.startsWith('tmp_'))
}

function gitDirectory(): string {
  return join(scratch.home, 'data/git')
}

function pathOf(taskId: string): string {
  return join(scratch.worktrees, taskId)
}

function branchOf(taskId: string): string {
  return `mxd/${taskId}/some-task`
}
