import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Benchmark, type Figure, ratioOf } from './figure.ts'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'boolean' } } })
const figures: (Figure & { benchmark: string; ratio: number; kept: boolean })[] = []

for (const benchmark of await loadBenchmarks(positionals)) {
  process.stderr.write(`measuring ${benchmark.name}\n`)
  for (const figure of await benchmark.measure()) {
    const ratio = ratioOf(figure)
    figures.push({ benchmark: benchmark.name, ...figure, ratio, kept: ratio <= figure.limit })
  }
}

if (values.json) process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`)
else for (const line of table()) process.stdout.write(`${line}\n`)
process.exitCode = figures.every(({ kept }) => kept) ? 0 : 1

/** Every `*.bench.ts` in a folder below this one, or those whose path holds one of the words given. */
async function loadBenchmarks(words: string[]): Promise<Benchmark[]> {
  const folder = new URL('.', import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.bench.ts'))
  const chosen = files.filter((file) => words.length === 0 || words.some((word) => file.includes(word))).sort()
  return Promise.all(chosen.map(async (file) => (await import(new URL(file, folder).href)).benchmark as Benchmark))
}

function table(): string[] {
  const rows = figures.map(({ name, unit, ours, floor, against, ratio, limit, kept }) => [
    kept ? 'ok' : 'OVER',
    name,
    `${ours.toFixed(2)} ${unit}`,
    `${floor.toFixed(2)} ${unit} ${against}`,
    `${ratio.toFixed(2)}x`,
    `${limit}x`,
  ])
  const all = [['', 'figure', 'ours', 'floor', 'ratio', 'limit'], ...rows]
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? []
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
