import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Figure, median } from './figure.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const sources = 'tooling/bench/src'
const quiet = ['ignore', 'inherit', 'inherit'] as const

export type Compared = {
  name: string
  unit: string
  before: number[]
  now: number[]
}

export type CompareOptions = {
  commit: string
  /** Paths of benchmarks below this folder. */
  files: readonly string[]
  rounds: number
}

/** Measures another commit and this checkout in turns, each in processes of its own, so that a busy moment meets both. */
export async function compareWith({ commit, files, rounds }: CompareOptions): Promise<Compared[]> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'matrix-against-')))
  const other = join(folder, 'tree')
  try {
    makeTree(other, commit)
    // A benchmark that is newer than the commit measures it all the same; one that was there keeps its form.
    for (const file of files)
      if (!existsSync(join(other, sources, file))) cpSync(join(root, sources, file), join(other, sources, file))
    buildTree(root)
    buildTree(other)
    const compared = new Map<string, Compared>()
    for (let round = 0; round < rounds; round += 1)
      for (const file of files)
        for (const [side, tree] of [
          ['before', other],
          ['now', root],
        ] as const)
          for (const figure of measure(tree, file)) add(compared, side, figure)
    return [...compared.values()]
  } finally {
    spawnSync('git', ['-C', root, 'worktree', 'remove', '--force', other])
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Slower is only what is slower in every round: medians alone differ by chance. */
export function isSlower({ before, now }: Compared): boolean {
  return before.length > 0 && now.length > 0 && Math.min(...now) > Math.max(...before)
}

export function tableOf(compared: readonly Compared[]): string[][] {
  const rows = compared.map((figure) => [
    isSlower(figure) ? 'SLOWER' : figure.before.length === 0 ? 'new' : figure.now.length === 0 ? 'gone' : 'ok',
    figure.name,
    spread(figure.before, figure.unit),
    spread(figure.now, figure.unit),
    figure.before.length > 0 && figure.now.length > 0
      ? `${(median(figure.now) / median(figure.before)).toFixed(2)}x`
      : '',
  ])
  return [['', 'figure', 'before (least to most)', 'now (least to most)', 'ratio'], ...rows]
}

function spread(values: readonly number[], unit: string): string {
  if (values.length === 0) return 'not measured'
  const [least, most] = [Math.min(...values), Math.max(...values)]
  return `${median(values).toFixed(2)} ${unit} (${least.toFixed(2)} to ${most.toFixed(2)})`
}

function makeTree(folder: string, commit: string): void {
  execFileSync('git', ['-C', root, 'worktree', 'add', '--quiet', '--detach', folder, `${commit}^{commit}`], {
    stdio: [...quiet],
  })
}

function buildTree(tree: string): void {
  process.stderr.write(`building ${tree}\n`)
  const run = (program: string, ...args: string[]) =>
    execFileSync(process.execPath, [join(tree, 'node_modules', program), ...args], {
      cwd: tree,
      // turbo looks for pnpm on the PATH.
      env: { ...process.env, PATH: `${join(tree, 'node_modules/.bin')}${delimiter}${process.env.PATH}` },
      // Standard output is for the table.
      stdio: ['ignore', process.stderr, process.stderr],
    })
  const pnpm = relative(join(tree, 'node_modules'), join(root, 'node_modules/pnpm/bin/pnpm.cjs'))
  run(pnpm, 'install', '--frozen-lockfile', '--prefer-offline', '--reporter=append-only')
  run('turbo/bin/turbo', 'run', 'build', '--output-logs=errors-only')
}

/** What a tree cannot measure, such as a benchmark that needs what came later, is missing from the table. */
function measure(tree: string, file: string): Figure[] {
  const bench = join(tree, 'tooling/bench')
  const args = ['--import', 'tsx', 'src/main.ts', '--json', file]
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: bench, encoding: 'utf8', maxBuffer: 1 << 26 })
  try {
    return JSON.parse(stdout) as Figure[]
  } catch {
    process.stderr.write(`${file} cannot be measured in ${tree}:\n${stderr.trim().split('\n').slice(-5).join('\n')}\n`)
    return []
  }
}

function add(compared: Map<string, Compared>, side: 'before' | 'now', { name, unit, ours }: Figure): void {
  const figure = compared.get(name) ?? { name, unit, before: [], now: [] }
  figure[side].push(ours)
  compared.set(name, figure)
}
