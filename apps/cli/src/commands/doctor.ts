import { execFile } from 'node:child_process'
import { access, constants, mkdir } from 'node:fs/promises'
import { release } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { measureProjects, nodeWorld, openConfig, openTrust, viewSandbox } from '@matrix/orchestrator'
import { MatrixError } from '@matrix/protocol'
import { checkGit } from '@matrix/task-tree'
import { findRipgrep, openPackageStore, openSandbox, resolveIdentity, type Sandbox } from '@matrix/tool-manager'
import { dataFolder } from '../data-folder.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { formatSandbox } from '../sandbox-report.ts'
import { colorsFor, print, printJson } from '../terminal.ts'

type Check = { name: string; ok: boolean; found: string; fix?: string }

/** Whether this machine has what Matrix needs, with the one thing to do for what is missing; and what an agent's sandbox has. */
export async function doctor({ json }: { json?: boolean }): Promise<ExitCode> {
  const sandbox = await openSandbox({ mode: 'auto' })
  const checks = await Promise.all([
    checkNode(),
    checkNpm(),
    findGit(),
    checkBox(sandbox),
    checkLimits(),
    checkRipgrep(),
    checkStore(),
  ])
  const dataDirectory = dataFolder()
  const inside = sandbox.isBoxing ? await viewSandbox(sandbox, { dataDirectory, environment: await readNames() }) : null
  const storage = await measureProjects(dataDirectory)
  if (json) printJson({ ok: checks.every(({ ok }) => ok), checks, sandbox: inside, storage })
  else print([format(checks), ...(inside ? [formatSandbox(inside, storage)] : [])].join('\n\n'))
  return checks.every(({ ok }) => ok) ? exitCode.ok : exitCode.findings
}

/** The variables that the user has added for every project. */
async function readNames(): Promise<readonly string[]> {
  const dataDirectory = dataFolder()
  const world = nodeWorld()
  const { settings } = await openConfig(world, { dataDirectory, trust: openTrust(world, { dataDirectory }) }).resolve()
  return settings.environment
}

async function checkNode(): Promise<Check> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const ok = major > 20 || (major === 20 && minor >= 19)
  return { name: 'node', ok, found: process.version, fix: 'Install Node.js 20.19 or newer.' }
}

function checkNpm(): Promise<Check> {
  return checkProgram('npm', 'Install npm, which comes with Node.js; servers are fetched with it.')
}

async function findGit(): Promise<Check> {
  try {
    return { name: 'git', ok: true, found: await checkGit() }
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return { name: 'git', ok: false, found: error.message, fix: error.hint }
  }
}

async function checkProgram(name: string, fix: string): Promise<Check> {
  const found = await promisify(execFile)(name, ['--version'], { timeout: 20_000 }).catch(() => undefined)
  return { name, ok: found !== undefined, found: found?.stdout.trim().split('\n')[0] ?? 'not found', fix }
}

/** Not whether the program is there, but whether a box that it makes holds. */
async function checkBox({ status }: Sandbox): Promise<Check> {
  const identity = resolveIdentity()
  const whose = identity ? `; boxes run as user ${identity.uid}, who has to own what they write` : ''
  if (status.available)
    return { name: 'sandbox', ok: true, found: `bubblewrap ${status.version}; nothing got out of a test box${whose}` }
  return { name: 'sandbox', ok: false, found: status.reason, fix: status.fix }
}

/** Nothing to repair: how far limits reach has to be known before a machine is trusted with many agents. */
async function checkLimits(): Promise<Check> {
  const [major = 0, minor = 0] = release().split('.').map(Number)
  // Before, the kernel counted all processes of a user, in whatever box.
  const counted = major > 5 || (major === 5 && minor >= 14) ? 'for each sandbox' : 'for all sandboxes together'
  const found = [
    `processes are counted ${counted}`,
    'memory for each sandbox of an agent, for each process of other servers',
    'the length of a file for each process',
    'the size of a worktree is not limited',
  ]
  return { name: 'limits', ok: true, found: found.join('; ') }
}

async function checkRipgrep(): Promise<Check> {
  const found = await findRipgrep()
  return {
    name: 'ripgrep',
    ok: found !== undefined,
    found: found ?? 'not found',
    fix: 'sudo apt-get install -y ripgrep',
  }
}

async function checkStore(): Promise<Check> {
  const folder = join(dataFolder(), 'packages')
  const fix = `Make ${folder} a folder that you may write to, or set MXD_DATA_DIR to another place.`
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await access(folder, constants.W_OK)
    const packages = await openPackageStore(folder, { offline: true }).list()
    return { name: 'store', ok: true, found: `${packages.length} verified packages in ${folder}`, fix }
  } catch (error) {
    return { name: 'store', ok: false, found: (error as Error).message, fix }
  }
}

function format(checks: Check[]): string {
  const { green, red, dim } = colorsFor(process.stdout)
  return checks
    .map(({ name, ok, found, fix }) => {
      const line = `${ok ? green('✔') : red('✘')} ${name.padEnd(8)} ${found}`
      return ok || !fix ? line : `${line}\n${dim(`           fix: ${fix}`)}`
    })
    .join('\n')
}
