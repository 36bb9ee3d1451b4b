import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { compareWith, isSlower, tableOf } from './against.ts'
import { type Benchmark, type Figure, ratioOf } from './figure.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean' }, against: { type: 'string' }, rounds: { type: 'string', default: '5' } },
})
const folder = new URL('.', import.meta.url)
const files = chooseFiles(positionals)

if (values.against === undefined) await measureHere()
else await measureBoth(values.against, Number(values.rounds))

async function measureHere(): Promise<void> {
  const figures: Judged[] = []
  for (const benchmark of await Promise.all(files.map(load))) {
    process.stderr.write(`measuring ${benchmark.name}\n`)
    for (const figure of await benchmark.measure()) {
      const ratio = ratioOf(figure)
      figures.push({ benchmark: benchmark.name, ...figure, ratio, kept: ratio <= figure.limit })
    }
  }
  print(figures, judgedTable(figures))
  process.exitCode = figures.every(({ kept }) => kept) ? 0 : 1
}

async function measureBoth(commit: string, rounds: number): Promise<void> {
  const compared = await compareWith({ commit, files, rounds })
  print(compared, tableOf(compared))
  process.exitCode = compared.some(isSlower) ? 1 : 0
}

/** Every `*.bench.ts` in a folder below this one, or those whose path holds one of the words given. */
function chooseFiles(words: string[]): string[] {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.bench.ts'))
  return all.filter((file) => words.length === 0 || words.some((word) => file.includes(word))).sort()
}

async function load(file: string): Promise<Benchmark> {
  return (await import(new URL(file, folder).href)).benchmark
}

type Judged = Figure & { benchmark: string; ratio: number; kept: boolean }

function judgedTable(figures: readonly Judged[]): string[][] {
  const rows = figures.map(({ name, unit, ours, floor, against, ratio, limit, kept }) => [
    kept ? 'ok' : 'OVER',
    name,
    `${ours.toFixed(2)} ${unit}`,
    `${floor.toFixed(2)} ${unit} ${against}`,
    `${ratio.toFixed(2)}x`,
    `${limit}x`,
  ])
  return [['', 'figure', 'ours', 'floor', 'ratio', 'limit'], ...rows]
}

function print(data: unknown, table: string[][]): void {
  if (values.json) process.stdout.write(`${JSON.stringify(data, null, 2)}\n`)
  else for (const line of align(table)) process.stdout.write(`${line}\n`)
}

function align(table: string[][]): string[] {
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  return table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
