import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import { monotonicFactory } from 'ulid'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Disk, nodeDisk } from './disk.ts'
import { faultyDisk } from './faulty-disk.ts'
import { type Git, gitRunner, runGit } from './git.ts'
import type { MergeOptions } from './merge.ts'
import { type ScratchRepository, scratchRepository } from './scratch-repository.ts'
import type { Worktrees } from './worktrees.ts'

// Every step with every fault takes minutes. Without that, those that leave most behind are tried where git moves files and
// branches, and some of the other steps get one of them.
const isWhole = process.env.MATRIX_CRASH_SWEEP === 'whole'
const timeout = isWhole ? 3_600_000 : 60_000
const faults = ['ENOSPC', 'EIO', 'EACCES', 'short', 'full'] as const
type FaultName = (typeof faults)[number]

const taskId = monotonicFactory()()
const branch = `mxd/${taskId}/some-task`
const long = Array.from({ length: 500 }, (_, index) => `line ${(index * 7919) % 997}`).join('\n')
const home = process.env.HOME
let scratch: ScratchRepository
let worktrees: Worktrees
let worktree = ''
let start = ''
beforeEach(async () => {
  scratch = await scratchRepository()
  process.env.HOME = scratch.home
  await scratch.write('goes', 'was here\n')
  await scratch.write('long', 'was short\n')
  start = scratch.commit('more')
  worktrees = await scratch.open()
  worktree = (await worktrees.create({ taskId, title: 'Some task', baseBranch: 'trunk' })).path
  await mkdir(join(worktree, 'deep/er'), { recursive: true })
  await writeFile(join(worktree, 'deep/er/new'), long)
  await writeFile(join(worktree, 'long'), long)
  await rm(join(worktree, 'goes'))
  await worktrees.commit({ taskId, message: 'work' })
  scratch.git('switch', '--quiet', '-c', 'elsewhere')
  for (const [name, blocks] of [
    ['full', 0],
    ['short', 1],
  ] as const) {
    const script = `#!/bin/sh\ntrap '' XFSZ\nulimit -f ${blocks}\nexec git "$@"\n`
    await writeFile(join(scratch.home, `git-${name}`), script, { mode: 0o755 })
  }
})
afterEach(async () => {
  process.env.HOME = home
  await scratch.remove()
})

describe('a disk that fails at any step', () => {
  for (const how of ['merge', 'squash'] as const)
    test(
      `of a ${how} leaves the base where it was or where it should be, and nothing of the user's is touched`,
      async () => {
        const options: MergeOptions = { branch, baseBranch: 'trunk', how, message: 'All of it' }
        const before = await scratch.fingerprint()
        await atEveryStep({
          prepare: async () => void scratch.git('update-ref', 'refs/heads/trunk', start),
          act: (failing) => failing.merge(options),
          check: async () => {
            expect(await scratch.fingerprint()).toBe(before)
            const next = await openNext()
            expect(['merged', 'nothing to merge']).toContain((await next.merge(options)).outcome)
            expect(scratch.git('log', '-1', '--format=%s', 'trunk')).toBe('All of it')
            expect(scratch.git('rev-list', '--count', '--first-parent', `${start}..trunk`)).toBe('1')
            expect(scratch.git('diff', '--stat', 'trunk', branch)).toBe('')
            expect(await scratch.fingerprint()).toBe(before)
          },
        })
      },
      timeout,
    )

  test(
    'of a merge into a checkout leaves that as it was or brings it all the way, with changes of the user kept',
    async () => {
      const options: MergeOptions = { branch, baseBranch: 'elsewhere', how: 'squash', updateCheckout: true }
      const own = '?? untracked\nA  staged\nM  src/date.ts\nM readme.md'
      await atEveryStep({
        prepare: async () => {
          scratch.git('reset', '--quiet', '--hard', start)
          await scratch.write('readme.md', 'my own edit\n')
          await scratch.write('src/date.ts', 'my own staged edit\n')
          await scratch.write('staged', 'mine\n')
          scratch.git('add', 'staged', 'src/date.ts')
          await scratch.write('untracked', 'mine\n')
        },
        act: (failing) => failing.merge(options),
        check: async () => {
          const next = await openNext()
          const isMerged = scratch.git('rev-parse', 'elsewhere') !== start
          expect(sorted(scratch.git('status', '--porcelain'))).toBe(own)
          expect(await readFile(join(scratch.checkout, 'long'), 'utf8')).toBe(isMerged ? long : 'was short\n')
          expect((await readdir(scratch.checkout)).includes('deep')).toBe(isMerged)
          expect((await readdir(scratch.checkout)).includes('goes')).toBe(!isMerged)

          expect((await next.merge(options)).outcome).toBe(isMerged ? 'nothing to merge' : 'merged')
          expect(scratch.git('diff', '--stat', 'elsewhere', branch)).toBe('')
          expect(sorted(scratch.git('status', '--porcelain'))).toBe(own)
        },
      })
    },
    timeout,
  )

  test(
    'of bringing a branch up to date with a conflict, and of committing it, makes one merge of it',
    async () => {
      const head = scratch.git('rev-parse', branch)
      scratch.git('switch', '--quiet', 'trunk')
      await scratch.write('long', 'theirs\n')
      await scratch.write('theirs', long)
      scratch.commit('theirs')
      const finish = async (using: Worktrees) => {
        const updated = await using.update({ taskId, from: 'trunk' })
        if (updated.outcome === 'conflict') await writeFile(join(worktree, 'long'), 'both\n')
        await using.commit({ taskId, message: 'Merge trunk' })
      }
      await atEveryStep({
        prepare: async () => {
          scratch.gitIn(worktree, 'reset', '--quiet', '--hard', head)
          scratch.gitIn(worktree, 'clean', '--quiet', '-fd')
        },
        act: finish,
        check: async () => {
          await finish(await openNext())
          expect(scratch.gitIn(worktree, 'status', '--porcelain')).toBe('')
          expect(scratch.git('log', '--merges', '--format=%s', branch)).toBe('Merge trunk')
          expect(scratch.git('show', `${branch}:long`)).toBe('both')
          expect(scratch.git('show', `${branch}:theirs`)).toBe(long)
        },
      })
    },
    timeout,
  )

  test(
    'of looking at what a branch changes is told, and leaves nothing behind',
    async () => {
      const options = { branch, baseBranch: 'trunk', withHunks: true }
      const expected = await worktrees.changes(options)
      const before = [await scratch.fingerprint(), scratch.git('for-each-ref')]
      await atEveryStep({
        prepare: async () => {},
        act: (failing) => failing.changes(options),
        check: async () => {
          expect([await scratch.fingerprint(), scratch.git('for-each-ref')]).toEqual(before)
          expect(await (await openNext()).changes(options)).toEqual(expected)
        },
      })
    },
    timeout,
  )
})

test('a merge that found no room, neither to go on nor to go back, is taken back once there is some', async () => {
  const options: MergeOptions = { branch, baseBranch: 'elsewhere', how: 'squash', updateCheckout: true }
  const git: Git = (args, options) =>
    /^(read-tree|checkout-index)$/.test(commandOf(args)) ? failingGit('full')(args, options) : runGit(args, options)
  const failing = await scratch.open({ git })

  await expect(failing.merge(options)).rejects.toMatchObject({ code: 'BRANCH_CHECKED_OUT' })
  expect(await readFile(join(scratch.checkout, 'goes'), 'utf8')).toBe('')
  const next = await openNext()
  expect(scratch.git('status', '--porcelain')).toBe('')
  expect((await next.merge(options)).outcome).toBe('merged')
})

test('a merge that is aborted at any step before it moves the base leaves that where it was', async () => {
  const before = await scratch.fingerprint()
  const options: MergeOptions = { branch, baseBranch: 'trunk', how: 'merge' }
  for (let at = 1, last = ''; last !== 'update-ref'; at += 1) {
    const stop = new AbortController()
    let step = Number.NEGATIVE_INFINITY
    const git: Git = (args, options) => {
      step += 1
      if (step === at) last = commandOf(args)
      if (step === at && last !== 'update-ref') stop.abort(new Error('enough'))
      return runGit(args, options)
    }
    const stopped = await scratch.open({ git })
    step = 0
    const result = await stopped.merge({ ...options, signal: stop.signal }).catch((error: Error) => error)

    expect(result).toMatchObject(last === 'update-ref' ? { outcome: 'merged' } : { message: 'enough' })
    expect(scratch.git('rev-parse', 'trunk') === start).toBe(last !== 'update-ref')
    expect(await scratch.fingerprint()).toBe(before)
    await expectNoLeftovers()
  }
})

type Operation = {
  prepare(): Promise<void>
  act(failing: Worktrees): Promise<unknown>
  check(): Promise<void>
}

const moving = /^git (read-tree|update-ref)$/
const reading = /^(git|read|kind|list) /

/** Lets the disk fail at one step after the other, be it our own or that of a git, and checks what is left. */
async function atEveryStep({ prepare, act, check }: Operation): Promise<void> {
  await prepare()
  const whole = await openFailing(Number.POSITIVE_INFINITY, 'EIO')
  await act(whole.worktrees)
  await check()

  for (const [index, what] of whole.steps.entries())
    for (const fault of faultsAt(index, what)) {
      await prepare()
      const failing = await openFailing(index + 1, fault)
      const error = await act(failing.worktrees).then(
        () => undefined,
        (error: unknown) => error,
      )
      try {
        if (error !== undefined) expectExplained(error)
        await check()
        await expectNoLeftovers()
      } catch (cause) {
        throw new Error(`${fault} at step ${index + 1} (${what}): ${(cause as Error).message}`, { cause })
      }
    }
}

function faultsAt(index: number, what: string): readonly FaultName[] {
  if (isWhole) return faults
  if (moving.test(what)) return ['EACCES', 'short', 'full']
  return index % (reading.test(what) ? 6 : 2) === 0 ? faults.slice(index % faults.length).slice(0, 1) : []
}

/** From the step on a full disk stays full; every other fault is over after it. */
async function openFailing(at: number, fault: FaultName): Promise<{ worktrees: Worktrees; steps: string[] }> {
  const steps: string[] = []
  const isHit = (name: string) => {
    steps.push(name)
    return steps.length === at || (fault === 'full' && steps.length > at)
  }
  let isOpen = false
  const git: Git = async (args, options) =>
    isOpen && isHit(`git ${commandOf(args)}`) ? failingGit(fault)(args, options) : runGit(args, options)
  const needsRoom = (name: string) => ['open', 'write', 'rename', 'makeDirectory'].includes(name)
  const disk: Disk = faultyDisk(nodeDisk, ({ name, path }) => {
    if (!isOpen || !isHit(`${name} ${path}`)) return undefined
    if (fault === 'full') return needsRoom(name) ? { code: 'ENOSPC' } : undefined
    return fault === 'short' ? 'short' : { code: fault }
  })
  const worktrees = await scratch.open({ git, disk })
  isOpen = true
  return { worktrees, steps }
}

function commandOf(args: readonly string[]): string {
  return args.find((arg, index) => /^[a-z-]+$/.test(arg) && !arg.startsWith('-') && args[index - 1] !== '-c') ?? ''
}

/** What becomes of a git on such a disk: it finds no room, is not read at all, does its work in vain, or stops half way. */
function failingGit(fault: FaultName): Git {
  if (fault === 'EIO') return gitRunner({ program: join(scratch.home, 'unreadable/git') })
  if (fault === 'EACCES')
    return async (args, options) => {
      await runGit(args, options)
      throw new MatrixError('GIT_FAILED', 'git could not say what it did')
    }
  return gitRunner({ program: join(scratch.home, fault === 'short' ? 'git-short' : 'git-full') })
}

function expectExplained(error: unknown): void {
  expect(error).toBeInstanceOf(MatrixError)
  if (!(error instanceof MatrixError)) return
  expect(error.code).toMatch(/^(STORAGE_FULL|STORAGE_FAILED|GIT_FAILED|GIT_MISSING|GIT_IDENTITY_MISSING|BRANCH_\w+)$/)
  expect(error.hint, error.message).toMatch(/^\S.*\.$/s)
  if (error.code.startsWith('STORAGE')) expect(error.message).toMatch(/ \/\S+|git [a-z-]+ /)
}

async function openNext(): Promise<Worktrees> {
  const next = await scratch.open()
  expect(await next.recover()).toEqual([])
  return next
}

async function expectNoLeftovers(): Promise<void> {
  const own = join(scratch.worktrees, '.matrix')
  expect((await readdir(own)).filter((name) => /^(index-|merge)/.test(name))).toEqual([])
  const inside = await readdir(join(scratch.checkout, '.git'), { recursive: true })
  expect(inside.filter((name) => name.endsWith('.lock'))).toEqual([])
  expect(scratch.git('fsck', '--no-dangling', '--no-progress')).toBe('')
}

function sorted(text: string): string {
  return text.split('\n').toSorted().join('\n')
}
