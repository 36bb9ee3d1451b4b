import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages } from '../debian.ts'
import type { Step } from '../obedient-model.ts'
import { expectProgram } from '../run-command.ts'
import type { Stage } from '../stage.ts'
import { COMMAND_LIMIT_MS, recorded } from '../suite-run.ts'
import { terminalEnvironment } from '../terminal-environment.ts'
import { type Manager, unlisted } from './manager.ts'
import { writeFiles } from './registry-files.ts'

/** How a package manager fared in the default sandbox. Times are those of its two commands. */
export type ManagerProof = { name: string; installMs: number; refusedMs: number; faults: string[] }

/** A package manager that tries again for longer makes an agent wait for nothing. */
const AT_ONCE_MS = 30_000

export async function proveManager(
  manager: Manager,
  { folder, stage }: { folder: string; stage: Stage },
): Promise<ManagerProof> {
  const proof: ManagerProof = { name: manager.name, installMs: 0, refusedMs: 0, faults: [] }
  try {
    await installPackages(manager.packages ?? [])
    const repository = join(folder, manager.name.replace(' ', '-'))
    await layOut(manager, repository)
    await stage.addProject(repository, manager.hosts ?? [])
    const { worktreePath } = await stage.perform(repository, stepsOf(manager))
    if (!worktreePath) throw new Error('The agent has no worktree.')
    const log = await stage.log(repository)
    const read = (file: string) => readIfThere(join(worktreePath, '.proving', file)).trim()
    Object.assign(proof, { installMs: Number(read('install.ms')), refusedMs: Number(read('refused.ms')) })
    proof.faults.push(...findFaults(manager, { read, log }))
  } catch (error) {
    proof.faults.push(error instanceof Error ? error.message : String(error))
  }
  return proof
}

function* findFaults({ says }: Manager, { read, log }: { read(file: string): string; log: string }): Generator<string> {
  for (const step of ['install', 'use', 'again'])
    if (read(`${step}.exit`) !== '0') yield `${step} ended with ${read(`${step}.exit`)}: ${read(`${step}.log`)}`
  if (!read('use.log').includes(says)) yield `what was installed does not say "${says}": ${read('use.log')}`
  if (read('refused.exit') === '0') yield `a host that is not listed was reached: ${read('refused.log')}`
  if (Number(read('refused.ms')) > AT_ONCE_MS) yield `a refused host was noticed after ${read('refused.ms')} ms only`
  if (!log.includes(`[network: ${unlisted}:443 was refused. Ask for it with request_access.]`))
    yield `the refused host is not named: ${log.slice(-1500)}`
}

async function layOut({ files }: Manager, repository: string): Promise<void> {
  rmSync(repository, { recursive: true, force: true })
  mkdirSync(repository, { recursive: true })
  writeFiles(repository, files)
  const options = { cwd: repository, env: terminalEnvironment() }
  const git = (...args: string[]) => expectProgram(['git', ...args], options)
  await git('init', '--quiet', '--initial-branch=main')
  await git('config', 'user.name', 'Proving Ground')
  await git('config', 'user.email', 'proving@example.com')
  await git('add', '--all')
  await git('commit', '--quiet', '--message', 'a project that uses a package')
}

function stepsOf({ install, use, again, elsewhere }: Manager): Step[] {
  const bash = (command: string, record: string) => ({
    tool: 'bash',
    input: { command: recorded(command, record), timeout_ms: COMMAND_LIMIT_MS },
  })
  const summary = 'The package is installed and used.'
  return [
    bash(install, 'install'),
    bash(use, 'use'),
    bash(again, 'again'),
    bash(elsewhere, 'refused'),
    bash('git restore . && git clean -fdq', 'clean'),
    { tool: 'done', input: { status: 'passed', summary } },
  ]
}

function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}
