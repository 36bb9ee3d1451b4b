import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as z from 'zod'

const VERSION = '0.2.0-alpha.12'
/** Long enough for a machine that does other things as well; one that answers is never made to wait for it. */
const SCENARIO_MS = '180000'
const run = promisify(execFile)

/** One scenario as it is at one revision of the protocol. */
export type Trial = { scenario: string; revision: string }

export type Outcome = Trial & { passed: number; failures: string[] }

/** The public conformance suite, beside the workspace: it needs a newer Node and has no place in the lockfile. */
export type Suite = {
  /** Every scenario for clients, at each of these revisions that it is for, and once where it is for none of them. */
  list(revisions: readonly string[]): Promise<Trial[]>
  try(trial: Trial, client: string): Promise<Outcome>
}

export async function openSuite(): Promise<Suite> {
  const folder = join(homedir(), '.cache', 'matrix', `conformance-${VERSION}`)
  const main = join(folder, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js')
  if (!existsSync(main)) await install(folder)
  const node = await findNode(folder)

  return {
    async list(revisions) {
      const { stdout } = await run(node, [main, 'list', '--client'])
      const found = [...stdout.matchAll(/^ +- (\S+) \[(.*)\]$/gm)].map(([, scenario = '', versions = '']) => {
        const matching = revisions.filter((revision) => versions.split(',').includes(revision))
        return (matching.length > 0 ? matching : [versions]).map((revision) => ({ scenario, revision }))
      })
      if (found.length === 0) throw new Error(`The suite lists no scenarios:\n${stdout}`)
      return found.flat()
    },
    async try({ scenario, revision }, client) {
      const results = await mkdtemp(join(tmpdir(), 'matrix-conformance-'))
      const isRevision = /^\d{4}-\d\d-\d\d$/.test(revision)
      const args = ['client', '--scenario', scenario, '--command', client, '--output-dir', results]
      args.push('--timeout', SCENARIO_MS)
      // What it exits with only says what its files say better.
      await run(node, [main, ...args, ...(isRevision ? ['--spec-version', revision] : [])]).catch(() => {})
      const outcome = { scenario, revision, ...(await readChecks(results)) }
      await rm(results, { recursive: true })
      return outcome
    },
  }
}

async function install(folder: string): Promise<void> {
  process.stderr.write(`Fetching @modelcontextprotocol/conformance@${VERSION} into ${folder}\n`)
  await mkdir(folder, { recursive: true })
  // It is not this Node that will run it.
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--engine-strict=false', '--loglevel', 'error']
  await run('npm', ['install', '--prefix', folder, ...quiet, `@modelcontextprotocol/conformance@${VERSION}`])
}

/** The suite runs on Node 22 or newer; where ours is older, npx brings one. */
async function findNode(cwd: string): Promise<string> {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath
  const { stdout } = await run('npx', ['-y', 'node@24', '-p', 'process.execPath'], { cwd })
  return stdout.trim()
}

const Checks = z.array(z.looseObject({ id: z.string(), status: z.string(), errorMessage: z.string().optional() }))

async function readChecks(folder: string): Promise<Pick<Outcome, 'passed' | 'failures'>> {
  const files = await readdir(folder, { recursive: true })
  const file = files.find((name) => name.endsWith('checks.json'))
  if (file === undefined) return { passed: 0, failures: ['the scenario did not run'] }
  const checks = Checks.parse(JSON.parse(await readFile(join(folder, file), 'utf8')))
  const failures = checks.filter(({ status }) => status === 'FAILURE')
  return {
    passed: checks.filter(({ status }) => status === 'SUCCESS').length,
    failures: failures.map(({ id, errorMessage }) => (errorMessage ? `${id}: ${errorMessage}` : id)),
  }
}
