import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@matrix/client'
import { printableLine } from '@matrix/protocol'
import type { ProjectView } from '@matrix/protocol/http'
import { findCheckout } from '../checkout.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { connect } from '../place.ts'
import { colorsFor, print, printJson } from '../terminal.ts'

type InitOptions = { name?: string; json?: boolean }

/** Makes this repository a project of Matrix. What is there already stays as it is, so that it can be done again. */
export async function init(folder: string, { name, json }: InitOptions): Promise<ExitCode> {
  const checkout = await findCheckout(folder)
  const client = await connect()
  const { findSetupHook, writeSetupExample } = await import('@matrix/task-tree')
  const isActive = await findSetupHook(checkout).then(
    () => true,
    () => false,
  )
  const setup = { ...(await writeSetupExample(checkout)), isActive }
  const memory = await writeOnce(join(checkout, '.mxd', 'memory.md'), memoryText)
  const registered = (await client.listProjects()).find(({ path }) => path === checkout)
  const project = registered
    ? await lookAgain(client, registered)
    : await client.registerProject({ body: { path: checkout, ...(name ? { name } : {}) } })

  const { provider } = await client.getStatus()

  if (json) printJson({ project, isNew: !registered, setup, memory, provider })
  else print(explain(project, { isNew: !registered, setup, hasKey: provider.kind === 'configured' }))
  return exitCode.ok
}

/** What was wrong with a project may have been put right since the daemon looked. */
async function lookAgain(client: Client, project: ProjectView): Promise<ProjectView> {
  return project.problem ? client.updateProject({ projectId: project.id, body: {} }) : project
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

type Outcome = {
  isNew: boolean
  setup: { path: string; detected: readonly string[]; isActive: boolean }
  hasKey: boolean
}

function explain(project: ProjectView, { isNew, setup, hasKey }: Outcome): string {
  const { bold, dim, green, yellow } = colorsFor(process.stdout)
  const name = bold(printableLine(project.name))
  const { path, baseBranch, problem } = project
  return [
    isNew ? `${green('✔')} ${name} is a project of Matrix now.` : `${name} is a project of Matrix already.`,
    dim(`  ${printableLine(path)} · agents start from ${printableLine(baseBranch ?? 'the base branch')}`),
    ...(problem ? [yellow(`  ${printableLine(problem.message)}`), `  ${printableLine(problem.hint)}`] : []),
    '',
    'Next:',
    ...(hasKey ? [] : ['  - Give agents a model to think with: matrix auth set anthropic']),
    ...(setup.isActive ? [] : setupSteps(setup)),
    '  - Write what agents should know into .mxd/memory.md, and commit .mxd.',
    '  - matrix send root "what you want done"',
    '  - matrix tree --watch',
  ].join('\n')
}

function setupSteps({ path, detected }: Outcome['setup']): string[] {
  const found = detected.length > 0 ? ` It fits ${detected.join(' and ')}.` : ''
  return [
    `  - Read ${printableLine(path)}: it prepares the worktree of each task.${found}`,
    '    If it is right, make it the one that runs:',
    '      mv .mxd/hooks/setup_worktree.sh.example .mxd/hooks/setup_worktree.sh && chmod +x .mxd/hooks/setup_worktree.sh',
  ]
}
