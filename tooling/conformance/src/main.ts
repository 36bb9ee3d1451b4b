import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import * as z from 'zod'
import { type Outcome, openSuite, type Trial } from './suite.ts'

/** The last revision that begins with `initialize`, and the first that does not. */
const revisions = ['2025-11-25', '2026-07-28']
const AT_ONCE = 2

const NotApplicable = z.array(z.object({ why: z.string(), scenarios: z.array(z.string()) }))
const excused = NotApplicable.parse(
  JSON.parse(await readFile(new URL('../not-applicable.json', import.meta.url), 'utf8')),
).flatMap(({ scenarios }) => scenarios)

const suite = await openSuite()
const folder = await mkdtemp(join(tmpdir(), 'matrix-conformance-'))
try {
  const trials = await suite.list(revisions)
  const outcomes = await tryAll(trials, `${process.execPath} ${await bundleClient(folder)}`)
  const complaints = [...outcomes.flatMap(complaintOf), ...strangers(trials)]
  const applying = outcomes.filter(({ scenario }) => !excused.includes(scenario))
  const passed = applying.reduce((sum, outcome) => sum + outcome.passed, 0)
  for (const complaint of complaints) process.stdout.write(`✘ ${complaint}\n`)
  process.stdout.write(
    `${applying.length} scenarios with ${passed} checks passed or are named above; ${trials.length - applying.length} do not apply.\n`,
  )
  process.exitCode = complaints.length === 0 ? 0 : 1
} finally {
  await rm(folder, { recursive: true })
}

/** Started for every scenario, so it is put together once. */
async function bundleClient(into: string): Promise<string> {
  const outfile = join(into, 'client.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('client.ts', import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    mainFields: ['module', 'main'],
    external: ['@vscode/ripgrep'],
    banner: { js: "import { createRequire } from 'node:module';const require = createRequire(import.meta.url);" },
    logLevel: 'warning',
  })
  return outfile
}

async function tryAll(trials: readonly Trial[], client: string): Promise<Outcome[]> {
  const waiting = [...trials]
  const outcomes: Outcome[] = []
  const worker = async () => {
    for (let trial = waiting.shift(); trial; trial = waiting.shift()) {
      const outcome = await suite.try(trial, client)
      process.stderr.write(`${labelOf(outcome)}  ${outcome.revision}  ${outcome.scenario}\n`)
      outcomes.push(outcome)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return outcomes
}

function labelOf({ scenario, passed, failures }: Outcome): string {
  if (excused.includes(scenario)) return 'n/a '
  if (failures.length > 0) return 'fail'
  return passed > 0 ? 'pass' : 'none'
}

/** What fails must be known and have a reason; what has one must still fail, or the reason is no longer true. */
function complaintOf({ scenario, revision, passed, failures }: Outcome): string[] {
  const name = `${scenario} (${revision})`
  if (excused.includes(scenario))
    return failures.length > 0 || passed === 0 ? [] : [`${name} passes now: take it out of not-applicable.json.`]
  if (failures.length > 0) return [`${name} fails:\n    ${failures.join('\n    ')}`]
  return passed > 0 ? [] : [`${name} checked nothing.`]
}

function strangers(trials: readonly Trial[]): string[] {
  const known = new Set(trials.map(({ scenario }) => scenario))
  return excused
    .filter((name) => !known.has(name))
    .map((name) => `The suite has no scenario ${name}: take it out of not-applicable.json.`)
}
