import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openWorktrees, type Worktrees } from '@matrix/task-tree'
import { type ScratchRepository, scratchRepository } from '@matrix/task-tree/testing'
import { type Benchmark, type Figure, median } from '../figure.ts'

const atOnce = 8
const run = promisify(execFile)

// A disk on which many files were deleted lately makes new ones many times slower. Both sides pay alike, so a few rounds
// are enough to compare them, and nobody waits for the others.
const fewestRounds = 3
const mostRounds = 9
const enoughMs = 4_000

/** Making one worktree, and eight at once, against git by itself. */
export const benchmark: Benchmark = {
  name: 'worktree add',
  async measure() {
    const small = await fullRepository(2_000)
    const large = await fullRepository(10_000)
    try {
      const one = { unit: 'ms', against: 'git worktree add', limit: 1.15 }
      const many = { unit: 'ms', against: `${atOnce} git worktree add one after another`, limit: 1 }
      const figures: Figure[] = [
        { name: 'worktree of 2000 files', ...one, ...(await compare(small, 1)) },
        { name: 'worktree of 10000 files', ...one, ...(await compare(large, 1)) },
        { name: `${atOnce} worktrees of 2000 files at once`, ...many, ...(await compare(small, atOnce)) },
      ]
      return figures
    } finally {
      await small.remove()
      await large.remove()
    }
  },
}

async function compare(scratch: ScratchRepository, count: number): Promise<{ ours: number; floor: number }> {
  const times = { ours: [] as number[], floor: [] as number[] }
  const worktrees = await openWorktrees({ repository: scratch.checkout, directory: scratch.worktrees })
  await plain(scratch, count)
  await ours(scratch, worktrees, count)
  const start = performance.now()
  const isEnough = () => times.ours.length >= fewestRounds && performance.now() - start > enoughMs
  while (times.ours.length < mostRounds && !isEnough()) {
    times.floor.push(await plain(scratch, count))
    times.ours.push(await ours(scratch, worktrees, count))
  }
  return { ours: median(times.ours), floor: median(times.floor) }
}

/** The files are in the history alone: there is no need to have them in the checkout as well. */
async function fullRepository(files: number): Promise<ScratchRepository> {
  const scratch = await scratchRepository({ branch: 'main' })
  const additions = Array.from({ length: files }, (_, index) => {
    const content = `export const value${index} = ${index}\n`.repeat(20)
    return `M 644 inline src/${index % 200}/file-${index}.ts\ndata ${content.length}\n${content}`
  })
  const commit =
    'commit refs/heads/main\ncommitter Ada <ada@example.com> 0 +0000\ndata 10\nmany files\nfrom refs/heads/main^0\n'
  scratch.gitWith(`${commit}${additions.join('\n')}\n`, 'fast-import', '--quiet')
  return scratch
}

let made = 0

async function plain(scratch: ScratchRepository, count: number): Promise<number> {
  const branches = Array.from({ length: count }, () => `plain-${made++}`)
  await run('sync')
  const start = performance.now()
  for (const branch of branches) {
    const path = join(scratch.home, branch)
    await run('git', ['worktree', 'add', '--quiet', '-b', branch, path, 'main'], { cwd: scratch.checkout })
  }
  const time = performance.now() - start
  await forget(scratch, branches, branches)
  return time
}

async function ours(scratch: ScratchRepository, worktrees: Worktrees, count: number): Promise<number> {
  const ids = Array.from({ length: count }, () => `01KMAB00${String(made++).padStart(18, '0')}`)
  await run('sync')
  const start = performance.now()
  const created = await Promise.all(
    ids.map((taskId) => worktrees.create({ taskId, title: 'Bench', baseBranch: 'main' })),
  )
  const time = performance.now() - start
  await forget(
    scratch,
    ids,
    created.map(({ branch }) => branch),
  )
  return time
}

/** Lets git forget worktrees, so that all rounds begin alike. Their files stay. */
async function forget(scratch: ScratchRepository, names: string[], branches: string[]): Promise<void> {
  for (const name of names) await rm(join(scratch.checkout, '.git/worktrees', name), { recursive: true })
  scratch.git('branch', '--quiet', '-D', ...branches)
}
