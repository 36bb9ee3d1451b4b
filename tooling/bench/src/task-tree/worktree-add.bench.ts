import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openWorktrees, type Worktrees } from '@matrix/task-tree'
import { type ScratchRepository, scratchRepository } from '@matrix/task-tree/testing'
import type { Benchmark, Figure } from '../figure.ts'

const rounds = 7
const atOnce = 8
const run = promisify(execFile)

/** Making one worktree, and eight at once, against git by itself. Both sides run the setup hook, which does nothing. */
export const benchmark: Benchmark = {
  name: 'worktree add',
  async measure() {
    const sizes = [2_000, 20_000]
    const figures: Figure[] = []
    for (const files of sizes) {
      const one = await compare(files, 1)
      figures.push({ name: `worktree of ${files} files`, unit: 'ms', ...one, against: 'git worktree add', limit: 1.15 })
    }
    const many = await compare(2_000, atOnce)
    const against = `${atOnce} git worktree add one after another`
    figures.push({ name: `${atOnce} worktrees of 2000 files at once`, unit: 'ms', ...many, against, limit: 1 })
    return figures
  },
}

async function compare(files: number, count: number): Promise<{ ours: number; floor: number }> {
  const scratch = await fullRepository(files)
  const folder = await mkdtemp(join(tmpdir(), 'matrix-bench-'))
  const times = { ours: [] as number[], floor: [] as number[] }
  try {
    const worktrees = await openWorktrees({ repository: scratch.checkout, directory: scratch.worktrees })
    for (let round = 0; round <= rounds; round += 1) {
      times.floor.push(await plain(scratch, folder, count))
      times.ours.push(await ours(scratch, worktrees, count))
    }
  } finally {
    await scratch.remove()
    await rm(folder, { recursive: true })
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

/** What is made is taken away again outside of the time. */
async function plain(scratch: ScratchRepository, folder: string, count: number): Promise<number> {
  const branches = Array.from({ length: count }, (_, index) => `plain-${index}`)
  const start = performance.now()
  for (const branch of branches) {
    const path = join(folder, branch)
    await run('git', ['worktree', 'add', '--quiet', '-b', branch, path, 'main'], { cwd: scratch.checkout })
    await run(join(scratch.checkout, '.mxd/hooks/setup_worktree.sh'), [], { cwd: path })
  }
  const time = performance.now() - start
  await takeAway(
    scratch,
    branches.map((branch) => join(folder, branch)),
    branches,
  )
  return time
}

let made = 0

async function ours(scratch: ScratchRepository, worktrees: Worktrees, count: number): Promise<number> {
  const ids = Array.from({ length: count }, () => `01KMAB00${String(made++).padStart(18, '0')}`)
  const start = performance.now()
  const created = await Promise.all(
    ids.map((taskId) => worktrees.create({ taskId, title: 'Bench', baseBranch: 'main' })),
  )
  const time = performance.now() - start
  await takeAway(
    scratch,
    created.map(({ path }) => path),
    created.map(({ branch }) => branch),
  )
  return time
}

async function takeAway(scratch: ScratchRepository, paths: string[], branches: string[]): Promise<void> {
  for (const path of paths) await rm(path, { recursive: true })
  scratch.git('worktree', 'prune')
  scratch.git('branch', '--quiet', '-D', ...branches)
}

// The first round only warms up.
function median(values: number[]): number {
  const sorted = values.slice(1).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
