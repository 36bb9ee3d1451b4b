import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openWorktrees, type Worktrees } from '@matrix/task-tree'
import { type ScratchRepository, scratchRepository } from '@matrix/task-tree/testing'
import type { Benchmark, Figure } from '../figure.ts'

const rounds = 5
const atOnce = 8
const run = promisify(execFile)

/** Making one worktree, and eight at once, against git by itself. Both sides run the setup hook, which does nothing. */
export const benchmark: Benchmark = {
  name: 'worktree add',
  async measure() {
    const small = await fullRepository(2_000)
    const large = await fullRepository(20_000)
    try {
      const one = { unit: 'ms', against: 'git worktree add', limit: 1.15 }
      const many = { unit: 'ms', against: `${atOnce} git worktree add one after another`, limit: 1 }
      const figures: Figure[] = [
        { name: 'worktree of 2000 files', ...one, ...(await compare(small, 1)) },
        { name: 'worktree of 20000 files', ...one, ...(await compare(large, 1)) },
        { name: `${atOnce} worktrees of 2000 files at once`, ...many, ...(await compare(small, atOnce)) },
      ]
      return figures
    } finally {
      // Not a moment earlier: for minutes after files are deleted, ext4 makes new ones many times slower.
      await small.remove()
      await large.remove()
    }
  },
}

async function compare(scratch: ScratchRepository, count: number): Promise<{ ours: number; floor: number }> {
  const times = { ours: [] as number[], floor: [] as number[] }
  const worktrees = await openWorktrees({ repository: scratch.checkout, directory: scratch.worktrees })
  for (let round = 0; round <= rounds; round += 1) {
    times.floor.push(await plain(scratch, count))
    times.ours.push(await ours(scratch, worktrees, count))
  }
  return { ours: median(times.ours), floor: median(times.floor) }
}

async function fullRepository(files: number): Promise<ScratchRepository> {
  const scratch = await scratchRepository({ branch: 'main' })
  const writes = Array.from(
    { length: files },
    (_, index) => () =>
      scratch.write(`src/${index % 200}/file-${index}.ts`, `export const value${index} = ${index}\n`.repeat(20)),
  )
  for (let at = 0; at < writes.length; at += 500) await Promise.all(writes.slice(at, at + 500).map((write) => write()))
  scratch.commit('many files')
  scratch.git('gc', '--quiet')
  return scratch
}

let made = 0

async function plain(scratch: ScratchRepository, count: number): Promise<number> {
  const branches = Array.from({ length: count }, () => `plain-${made++}`)
  const start = performance.now()
  for (const branch of branches) {
    const path = join(scratch.home, branch)
    await run('git', ['worktree', 'add', '--quiet', '-b', branch, path, 'main'], { cwd: scratch.checkout })
    await run(join(scratch.checkout, '.mxd/hooks/setup_worktree.sh'), [], { cwd: path })
  }
  const time = performance.now() - start
  await forget(scratch, branches, branches)
  return time
}

async function ours(scratch: ScratchRepository, worktrees: Worktrees, count: number): Promise<number> {
  const ids = Array.from({ length: count }, () => `01KMAB00${String(made++).padStart(18, '0')}`)
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

// The first round only warms up.
function median(values: number[]): number {
  const sorted = values.slice(1).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
