import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monotonicFactory } from 'ulid'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nodeDisk } from './disk.ts'
import { dyingProcess } from './dying-process.ts'
import { faultyDisk } from './faulty-disk.ts'
import { gitRunner } from './git.ts'
import { type ScratchRepository, scratchRepository } from './scratch-repository.ts'
import type { SetupPlace } from './setup.ts'
import type { Worktrees } from './worktrees.ts'

// The whole sweep takes minutes: every step, each time before and after it. Without it some of the steps are tried.
const isWhole = process.env.MATRIX_CRASH_SWEEP === 'whole'
const stride = isWhole ? 1 : 13
const timeout = isWhole ? 3_600_000 : 60_000
const newId = monotonicFactory()
const home = process.env.HOME
let scratch: ScratchRepository
let before = ''
beforeEach(async () => {
  scratch = await scratchRepository()
  process.env.HOME = scratch.home
  scratch.git('switch', '--quiet', '-c', 'elsewhere')
  before = await scratch.fingerprint()
})
afterEach(async () => {
  process.env.HOME = home
  await scratch.remove()
})

describe('a process killed at any step', () => {
  test(
    'of creating a worktree leaves nothing that keeps it from being made',
    async () => {
      await atEveryStep(create, async (worktrees, taskId) => {
        const listed = await worktrees.list()
        expect(listed.map(({ state }) => state)).toEqual(listed.length === 0 ? [] : ['ready'])
        const made = await create(worktrees, taskId)
        expect(scratch.gitIn(made.path, 'status', '--porcelain')).toBe('?? ignored-by-nobody')
        expect(await readFile(join(made.path, 'ignored-by-nobody'), 'utf8')).toBe('set up\n')
      })
    },
    timeout,
  )

  test(
    'of removing one loses no work, committed or not',
    async () => {
      const remove = (worktrees: Worktrees, taskId: string) =>
        worktrees.remove({ taskId, deleteBranch: true, baseBranch: 'trunk' })
      await atEveryStep(
        remove,
        async (worktrees, taskId) => {
          const path = join(scratch.worktrees, taskId)
          const [listed] = await worktrees.list()
          if (listed) {
            expect(listed).toMatchObject({ taskId, state: 'ready' })
            expect(await readFile(join(path, 'new'), 'utf8')).toBe('uncommitted')
            await remove(worktrees, taskId)
          }
          const saved = await worktrees.snapshots(taskId)
          expect(scratch.git('show', `${saved.at(-1)?.commit}:new`)).toBe('uncommitted')
          expect(scratch.git('show', `${saved.at(-1)?.commit}:committed`)).toBe('committed')
          expect(await readdir(join(scratch.worktrees, '.matrix/aside'))).toEqual([])
          expect(scratch.git('branch', '--list', `mxd/${taskId}/*`)).toBe('')
        },
        withWork,
      )
    },
    timeout,
  )

  test(
    'of taking a snapshot leaves the worktree as it was',
    async () => {
      await atEveryStep(
        (worktrees, taskId) => worktrees.snapshot(taskId, 'x'),
        async (worktrees, taskId) => {
          const path = join(scratch.worktrees, taskId)
          expect(scratch.gitIn(path, 'status', '--porcelain')).toBe('?? ignored-by-nobody\n?? new')
          const snapshot = await worktrees.snapshot(taskId, 'again')
          expect(scratch.git('show', `${snapshot?.commit}:new`)).toBe('uncommitted')
          expect(
            (await readdir(join(scratch.worktrees, '.matrix'))).filter((name) => name.startsWith('index-')),
          ).toEqual([])
        },
        withWork,
      )
    },
    timeout,
  )

  test(
    'of merging leaves the base where it was or where it should be',
    async () => {
      const merge = (worktrees: Worktrees, taskId: string) =>
        worktrees.merge({ branch: `mxd/${taskId}/some-task`, baseBranch: 'trunk', how: 'merge' })
      await atEveryStep(
        merge,
        async (worktrees, taskId) => {
          expect(['merged', 'nothing to merge']).toContain((await merge(worktrees, taskId)).outcome)
          expect(scratch.git('show', 'trunk:committed')).toBe('committed')
          expect(scratch.git('rev-list', '--count', '--merges', 'trunk')).toBe('1')
        },
        async (worktrees, taskId) => {
          scratch.git('update-ref', 'refs/heads/trunk', 'elsewhere')
          await withWork(worktrees, taskId)
        },
      )
    },
    timeout,
  )

  test(
    'of merging into a checkout leaves that as it was, or brings it all the way',
    async () => {
      const merge = (worktrees: Worktrees, taskId: string) =>
        worktrees.merge({
          branch: `mxd/${taskId}/some-task`,
          baseBranch: 'elsewhere',
          how: 'squash',
          updateCheckout: true,
        })
      const start = scratch.git('rev-parse', 'elsewhere')
      await atEveryStep(
        merge,
        async () => {
          expect(scratch.git('status', '--porcelain')).toBe('')
          const isMerged = scratch.git('rev-parse', 'elsewhere') !== start
          expect(await readFile(join(scratch.checkout, 'committed'), 'utf8').catch(() => '')).toBe(
            isMerged ? 'committed' : '',
          )
          scratch.git('reset', '--quiet', '--hard', start)
          before = await scratch.fingerprint()
        },
        withWork,
      )
    },
    timeout,
  )
})

describe('a git that is killed in the middle', () => {
  for (const command of ['worktree', 'read-tree', 'update-ref'])
    test(
      `of ${command} keeps no worktree from being made, saved or removed`,
      async () => {
        const program = await suicidalGit(command)
        const fragile = await scratch.open({ git: gitRunner({ program }) })
        for (const delay of isWhole ? ['0.0005', '0.001', '0.002', '0.004', '0.006', '0.008'] : ['0.002', '0.006']) {
          await writeFile(join(scratch.home, 'delay'), delay)
          const taskId = newId()
          await create(fragile, taskId).catch(expectGitFailure)
          await rm(join(scratch.home, 'delay'))
          const worktrees = await scratch.open()
          await worktrees.recover()
          await withWork(worktrees, taskId)

          await writeFile(join(scratch.home, 'delay'), delay)
          await fragile.remove({ taskId }).catch(expectGitFailure)
          await rm(join(scratch.home, 'delay'))
          await worktrees.recover()
          if (await worktrees.find(taskId)) await worktrees.remove({ taskId })
          const saved = await worktrees.snapshots(taskId)
          expect(scratch.git('show', `${saved.at(-1)?.commit}:new`)).toBe('uncommitted')
        }
      },
      timeout,
    )
})

describe('with a disk that fails', () => {
  for (const code of ['ENOSPC', 'EIO', 'EACCES'])
    test(
      `${code} at any step of making and removing a worktree is reported, and nothing is lost`,
      async () => {
        for (let at = 1; ; at += isWhole ? 1 : 21) {
          const taskId = newId()
          let hits = 0
          const disk = faultyDisk(nodeDisk, ({ step, name }) => {
            if (step !== at || name === 'read' || name === 'kind') return undefined
            hits += 1
            return { code }
          })
          const error = await openAndCycle(disk, taskId).catch((error) => error as Error & { code?: string })
          const worktrees = await scratch.open()
          await worktrees.recover()
          await finishCycle(worktrees, taskId)
          if (error) expect(String(error.code), error.message).toMatch(/^(STORAGE_|GIT_|WORKTREE_|E[A-Z]+$)/)
          if (error === undefined && hits === 0 && at > 60) break
        }
      },
      timeout,
    )
})

type Act = (worktrees: Worktrees, taskId: string) => Promise<unknown>

type Check = (worktrees: Worktrees, taskId: string) => Promise<void>

/** Lets a process die at each of its steps, then checks what the next one makes of it. */
async function atEveryStep(act: Act, check: Check, prepare: Act = async () => {}): Promise<void> {
  const opening = dyingProcess()
  await scratch.open(opening)
  for (let step = 1; ; step += stride)
    for (const when of isWhole ? (['before', 'after'] as const) : ([step % 2 ? 'before' : 'after'] as const)) {
      const taskId = newId()
      await prepare(await scratch.open(), taskId)
      const dying = dyingProcess(opening.steps + step, when)
      await act(await scratch.open(dying), taskId).catch(() => {})
      await checkNext(check, taskId).catch((error) => {
        throw new Error(`died ${when} step ${step}: ${error.message}`, { cause: error })
      })
      if (dying.steps < opening.steps + step) return
    }
}

async function checkNext(check: Check, taskId: string): Promise<void> {
  const next = await scratch.open()
  await next.recover()
  await check(next, taskId)
  expect(await scratch.fingerprint()).toBe(before)
  if (await next.find(taskId)) await next.remove({ taskId })
}

async function withWork(worktrees: Worktrees, taskId: string): Promise<void> {
  const { path } = await create(worktrees, taskId)
  await writeFile(join(path, 'committed'), 'committed')
  scratch.gitIn(path, 'add', 'committed')
  scratch.gitIn(path, 'commit', '--quiet', '-m', 'work')
  await writeFile(join(path, 'new'), 'uncommitted')
}

async function openAndCycle(disk: typeof nodeDisk, taskId: string): Promise<undefined> {
  const worktrees = await scratch.open({ disk })
  const { path } = await create(worktrees, taskId)
  await writeFile(join(path, 'new'), 'uncommitted')
  await worktrees.remove({ taskId })
}

async function finishCycle(worktrees: Worktrees, taskId: string): Promise<void> {
  const ready = await worktrees.find(taskId)
  const wasMade = ready && (await readFile(join(ready.path, 'new'), 'utf8').catch(() => undefined))
  if (ready) await worktrees.remove({ taskId })
  if (wasMade) expect(await worktrees.snapshots(taskId)).not.toEqual([])
  expect(await worktrees.list()).toEqual([])
  expect(await readdir(join(scratch.worktrees, '.matrix/aside'))).toEqual([])
}

/** Kills itself, the time in the file `delay` after it started, whenever it is to run the command. */
async function suicidalGit(command: string): Promise<string> {
  const program = join(scratch.home, 'bin', `git-${command}`)
  await mkdir(join(program, '..'), { recursive: true })
  const script = `#!/bin/sh
case " $* " in *" ${command} "*) [ -f '${scratch.home}/delay' ] && exec timeout -s KILL "$(cat '${scratch.home}/delay')" git "$@";; esac
exec git "$@"
`
  await writeFile(program, script)
  await chmod(program, 0o755)
  return program
}

function expectGitFailure(error: { code?: string }): void {
  expect(error.code).toMatch(/GIT_FAILED|WORKTREE_UNKNOWN|BRANCH_UNKNOWN|REPOSITORY_UNUSABLE/)
}

function create(worktrees: Worktrees, taskId: string) {
  const setUp = ({ worktree }: SetupPlace) => writeFile(join(worktree, 'ignored-by-nobody'), 'set up\n')
  return worktrees.create({ taskId, title: 'Some task', baseBranch: 'trunk', setUp })
}
