import { rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChild } from './child.mjs'
import { explainFailure, tailOf } from './failure.mjs'
import { install, pinnedPnpm } from './install.mjs'
import { formatCounts, readCounts, readFailures, sumCounts } from './results.mjs'
import { findRunning } from './running-daemon.mjs'
import { isInstalled, writeStamp } from './stamp.mjs'
import { readPackage, workspaceFolders } from './workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const turbo = join(root, 'node_modules/turbo/bin/turbo')
const env = {
  ...process.env,
  // turbo looks for pnpm on the PATH, where only the workspace's own copy can be relied on.
  PATH: `${join(root, 'node_modules/.bin')}${process.platform === 'win32' ? ';' : ':'}${process.env.PATH}`,
  TURBO_TELEMETRY_DISABLED: '1',
  TURBO_NO_UPDATE_NOTIFIER: '1',
}

const commands = { start, demo, test, packaging }

/**
 * From a clone to a running command: installs and builds what is missing or changed, then goes on.
 * @param {string[]} argv
 */
export async function bootstrap([name = '', ...args]) {
  const command = Object.entries(commands).find(([known]) => known === name)?.[1]
  if (!command) return end(2, `There is no "${name}" here: use npm start, npm run demo or npm test.`)
  if (command === packaging && args.length > 0) return end(2, 'npm run packaging takes no arguments.')

  process.exitCode = await command(args)
}

/** @param {string[]} args */
async function start(args) {
  const address = await findRunning(args, process.env)
  if (address) {
    say(`Matrix runs already at ${address}`)
    say(
      'To let another browser in: npx matrix device add. To end it: npx matrix daemon stop, or Ctrl-C where it was started.',
    )
    return 0
  }
  if (!(await prepare())) return 1
  if (!(await build())) return 1

  // It prints where to look; the first browser that opens that address is let in.
  const daemon = join(root, 'apps/daemon/bin/matrix-daemon.js')
  const { code } = await runChild(process.execPath, [daemon, '--demo', '--enrol', '--foreground', ...args], {
    cwd: root,
  })
  return code
}

/** @param {string[]} args */
async function demo(args) {
  if (!(await prepare())) return 1
  if (!(await build())) return 1

  const cli = join(root, 'apps/cli/bin/matrix.js')
  const { code } = await runChild(process.execPath, [cli, 'demo', ...args], { cwd: root })
  return code
}

/**
 * Tests every package, or those that are named: `npm test -- cli daemon`.
 * @param {string[]} names
 */
async function test(names) {
  const testable = workspaceFolders(root).filter((folder) => readPackage(root, folder).scripts?.test)
  const unknown = names.find((name) => !testable.some((folder) => basename(folder) === name))
  if (unknown !== undefined)
    return usage(
      `There is no package "${unknown}" to test: use ${testable.map((folder) => basename(folder)).join(', ')}.`,
    )

  const tested = testable.filter((folder) => names.length === 0 || names.includes(basename(folder)))
  const reports = tested.map((folder) => ({ folder, file: join(root, folder, 'test-results.json') }))
  for (const { file } of reports) rmSync(file, { force: true })
  if (!(await prepare())) return summarize([], 1)

  say('Building and testing.')
  // One broken package must not hide what the others have to say.
  const filters = names.length === 0 ? [] : tested.map((folder) => `--filter=./${folder}`)
  const args = [turbo, 'run', 'build', 'test', '--continue=always', '--output-logs=new-only', ...filters]
  const { code } = await runChild(process.execPath, args, { cwd: root, env })
  return summarize(reports, code)
}

async function packaging() {
  const folder = 'tooling/repository'
  const file = join(root, folder, 'packaging/test-results.json')
  rmSync(file, { force: true })
  if (!(await prepare())) return summarize([], 1)
  if (!(await build())) return summarize([], 1)

  say('Packing every package and using it as a stranger would.')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--root', 'packaging']
  const { code } = await runChild(process.execPath, args, { cwd: join(root, folder), env })
  return summarize([{ folder, file }], code)
}

async function prepare() {
  if (isInstalled(root)) return true

  say(`Installing dependencies with pnpm ${pinnedPnpm(root)}.`)
  const { code, output } = await install(root)
  if (code !== 0) return refuse(explainFailure(output) ?? `The installation failed. It said:\n\n${tailOf(output)}`)

  writeStamp(root)
  return true
}

async function build() {
  say('Building.')
  const args = [turbo, 'run', 'build', '--output-logs=errors-only']
  const { code, output } = await runChild(process.execPath, args, { cwd: root, env, quiet: true })
  return code === 0 || refuse(`The build failed. It said:\n\n${tailOf(output)}`)
}

/**
 * @param {{ folder: string, file: string }[]} reports
 * @param {number} code
 */
function summarize(reports, code) {
  const results = reports.map(({ folder, file }) => ({
    name: readPackage(root, folder).name,
    counts: readCounts(file),
    failures: readFailures(file),
  }))
  const width = Math.max(0, ...results.map(({ name }) => name.length))
  for (const { name, counts } of results) say(`${name.padEnd(width)}  ${formatCounts(counts)}`)
  for (const { name, failures } of results) for (const failure of failures) say(`FAILED ${name} ${failure}`)

  const total = sumCounts(results.map(({ counts }) => counts))
  // What fails outside of any test (a build, an unhandled rejection) must still not read as success.
  if (code !== 0 && total.failed === 0) total.failed = 1
  say(formatCounts(total))
  return total.failed > 0 ? 1 : 0
}

/** @param {string} why */
function usage(why) {
  console.error(why)
  return 2
}

/** @param {string} why */
function refuse(why) {
  console.error(why)
  return false
}

/** @param {string} line */
function say(line) {
  console.log(line)
}

/**
 * @param {number} code
 * @param {string} sentence
 */
function end(code, sentence) {
  console.error(sentence)
  process.exitCode = code
}
