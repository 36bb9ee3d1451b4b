import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MatrixError, printableLine } from '@matrix/protocol'
import type { ProjectView } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { connect } from '../place.ts'
import { colorsFor, print, printJson } from '../terminal.ts'

type InitOptions = { name?: string; json?: boolean }

/** Makes this repository a project of Matrix. What is there already stays as it is, so that it can be done again. */
export async function init(folder: string, { name, json }: InitOptions): Promise<ExitCode> {
  const checkout = await findCheckout(folder)
  const client = await connect()
  const { writeSetupExample } = await import('@matrix/task-tree')
  const setup = await writeSetupExample(checkout)
  const memory = await writeOnce(join(checkout, '.mxd', 'memory.md'), memoryText)
  const registered = (await client.listProjects()).find(({ path }) => path === checkout)
  const project = registered ?? (await client.registerProject({ body: { path: checkout, ...(name ? { name } : {}) } }))

  if (json) printJson({ project, isNew: !registered, setup, memory })
  else print(explain(project, { isNew: !registered, checkout, setup: setup.path, detected: setup.detected }))
  return exitCode.ok
}

const memoryText = `# What agents should know about this repository

Every agent reads this file when it starts. Write down what a newcomer could not guess: how to build and test, what must not
be touched, which decisions are settled. Agents add to it as they learn.
`

async function writeOnce(path: string, text: string): Promise<{ path: string; isNew: boolean }> {
  if ((await readFile(path).catch(() => undefined)) !== undefined) return { path, isNew: false }
  await writeFile(path, text, { flag: 'wx' })
  return { path, isNew: true }
}

async function findCheckout(folder: string): Promise<string> {
  const git = promisify(execFile)
  try {
    return (await git('git', ['rev-parse', '--show-toplevel'], { cwd: folder })).stdout.trimEnd()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT')
      throw new MatrixError('GIT_FAILED', 'git was not found, or the folder does not exist.', {
        hint: 'Install git; matrix doctor says how.',
        cause,
      })
    throw new MatrixError('REPOSITORY_UNUSABLE', `${folder} is not in a git repository.`, {
      hint: 'Run git init and make a first commit, then try again.',
      cause,
    })
  }
}

type Outcome = { isNew: boolean; checkout: string; setup: string; detected: readonly string[] }

function explain(project: ProjectView, { isNew, checkout, setup, detected }: Outcome): string {
  const { bold, dim, green, yellow } = colorsFor(process.stdout)
  const head = isNew
    ? `${green('✔')} ${bold(printableLine(project.name))} is a project of Matrix now.`
    : `${bold(printableLine(project.name))} is a project of Matrix already.`
  const found = detected.length > 0 ? ` It fits ${detected.join(' and ')}.` : ''
  return [
    head,
    dim(`  ${printableLine(checkout)} · agents start from ${printableLine(project.baseBranch ?? 'the base branch')}`),
    ...(project.problem
      ? [yellow(`  ${printableLine(project.problem.message)}`), `  ${printableLine(project.problem.hint)}`]
      : []),
    '',
    'Next:',
    `  1. Read ${printableLine(setup)}: it prepares the worktree of each task.${found}`,
    '     If it is right: mv .mxd/hooks/setup_worktree.sh.example .mxd/hooks/setup_worktree.sh && chmod +x .mxd/hooks/setup_worktree.sh',
    '  2. Write what agents should know into .mxd/memory.md, and commit .mxd.',
    '  3. matrix send root "what you want done"',
    '     matrix tree --watch',
  ].join('\n')
}
