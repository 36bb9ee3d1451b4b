import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Ground } from './layout.ts'
import type { Step } from './obedient-model.ts'
import type { Project } from './project.ts'
import { expectProgram } from './run-command.ts'
import type { Stage } from './stage.ts'
import { COMMAND_LIMIT_MS, expectRecorded, readRun, recorded, type SuiteRun } from './suite-run.ts'
import { terminalEnvironment } from './terminal-environment.ts'

export type Inside = { run: SuiteRun /** What of the job went wrong. */; faults: string[] }

const note = ' (Edited by an agent.)'

/** The same commands as an agent's, then its job: edit, test, commit with git in the shell, done, merge. */
export async function runInside(project: Project, { repository }: Ground, stage: Stage): Promise<Inside> {
  await stage.addProject(repository, await hostsOf(project))
  const { worktreePath } = await stage.perform(repository, stepsOf(project))
  if (!worktreePath) throw new Error('The agent has no worktree.')
  if (project.setup) expectRecorded('setup', worktreePath)
  const run = readRun(project, worktreePath)
  const faults = [...checkJob(worktreePath)]
  await stage.merge(repository)
  return { run, faults: [...faults, ...(await checkMerge(project, repository))] }
}

/** The registry that npm is configured with on this machine. */
async function hostsOf({ source }: Project): Promise<string[]> {
  if (!('npm' in source)) return []
  const options = { cwd: '/', env: { ...terminalEnvironment(), npm_config_loglevel: 'silent' } }
  return [new URL((await expectProgram(['npm', 'config', 'get', 'registry'], options)).trim()).host]
}

function stepsOf({ name, setup, test, job }: Project): Step[] {
  const bash = (command: string, record: string) => ({
    tool: 'bash',
    input: { command: recorded(command, record), timeout_ms: COMMAND_LIMIT_MS },
  })
  const edit = { path: job.file, old_string: job.text, new_string: `${job.text}${note}` }
  return [
    ...(setup ? [bash(setup, 'setup')] : []),
    bash(test, 'test'),
    { tool: 'mxd__edit_file', input: edit },
    bash(job.test, 'job'),
    bash(`git add ${job.file} && git commit --quiet -m ${quote(messageOf(name))} && git log -1 --stat`, 'commit'),
    // What the tests left behind is no part of the work, and an agent has to leave its worktree clean.
    bash('git restore . && git clean -fdq && git status --short', 'clean'),
    { tool: 'done', input: { status: 'passed', summary: `${job.file} is edited, tested and committed.` } },
  ]
}

function* checkJob(worktree: string): Generator<string> {
  for (const step of ['job', 'commit', 'clean']) {
    const [exit, log] = ['exit', 'log'].map((kind) => readIfThere(join(worktree, '.proving', `${step}.${kind}`)).trim())
    if (exit !== '0') yield `${step} ended with ${exit || 'nothing'}: ${log?.split('\n').slice(-3).join(' / ')}`
  }
}

async function checkMerge({ name, job }: Project, repository: string): Promise<string[]> {
  const git = (...args: string[]) => expectProgram(['git', ...args], { cwd: repository })
  const subjects = await git('log', '--format=%s', 'main')
  const changed = (await git('diff', '--name-only', ':/as published', 'main')).trim().split('\n')
  const others = changed.filter((file) => file !== job.file && !file.startsWith('.mxd/'))
  const checks: [isTrue: boolean, fault: string][] = [
    [subjects.includes(messageOf(name)), `main lacks the agent's commit: ${subjects.trim()}`],
    [(await git('show', `main:${job.file}`)).includes(`${job.text}${note}`), `${job.file} on main lacks the edit`],
    [(await git('diff', '--name-only', 'HEAD')).trim() === '', 'the checkout differs from main'],
    [others.length === 0, `the merge changed more than ${job.file}: ${others.slice(0, 5).join(', ')}`],
  ]
  return checks.filter(([isTrue]) => !isTrue).map(([, fault]) => fault)
}

function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

function messageOf(name: string): string {
  return `docs: note of an agent in ${name}`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
