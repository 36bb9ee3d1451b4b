import { basename, dirname, resolve } from 'node:path'
import { MatrixError, printableLine } from '@matrix/protocol'
import type { AgentProposalView, AgentView } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { readInput } from '../input-file.ts'
import { connect, openProject, type PlaceOptions } from '../place.ts'
import { confirm } from '../prompt.ts'
import { formatTable } from '../table.ts'
import { colorsFor, print, printError, printJson, terminalWidth } from '../terminal.ts'

type AddOptions = {
  user?: boolean
  project?: string | true
  name?: string
  skip?: boolean
  replace?: boolean
  yes?: boolean
  json?: boolean
}

/** Every agent that a task of this project can name; outside of a project, those of the user. */
export async function listAgents(options: PlaceOptions & { json?: boolean }): Promise<ExitCode> {
  const { client, query } = await openHere(options)
  const agents = await client.listAgents(query)
  if (options.json) printJson(agents)
  else print(formatAgents(agents).join('\n'))
  return agents.some(({ state }) => state === 'damaged') ? exitCode.findings : exitCode.ok
}

async function openHere(options: PlaceOptions) {
  try {
    const { client, project } = await openProject(options)
    return { client, query: { projectId: project.id } }
  } catch (error) {
    const isElsewhere = error instanceof MatrixError && error.code === 'PROJECT_UNKNOWN'
    if (!isElsewhere || options.project !== undefined) throw error
    return { client: await connect(), query: {} }
  }
}

const states = { approved: 'approved', unapproved: 'needs approval', damaged: 'damaged' }

function formatAgents(agents: readonly AgentView[]): string[] {
  const rows = agents.map((agent) => [
    agent.name,
    agent.source,
    [states[agent.state], ...(agent.isLocked ? ['locked'] : []), ...(hidden(agent) ? ['not used'] : [])].join(', '),
    agent.allowedSideEffects.join(', '),
    printableLine(tellAgent(agent)),
  ])
  const columns = [
    { heading: 'name' },
    { heading: 'from' },
    { heading: 'state' },
    { heading: 'may' },
    { heading: 'description', flexible: true },
  ]
  return formatTable(columns, rows, terminalWidth())
}

/** Another agent of its name goes before it. */
function hidden({ state, isInForce }: AgentView): boolean {
  return state === 'approved' && !isInForce
}

function tellAgent({ description, problem, leftOut }: AgentView): string {
  if (problem) return problem.message
  const without = leftOut.length > 0 ? ` (without ${leftOut.map(({ alias }) => alias).join(', ')})` : ''
  return `${description}${without}`
}

/** From a file to an agent that tasks can name: verified, pinned, shown, approved once and kept. */
export async function addAgent(path: string, options: AddOptions): Promise<ExitCode> {
  const bytes = await readInput(path)
  const client = await connect()
  const project = options.project === undefined ? undefined : await projectOf(options.project)
  const place = project && { projectId: project.id }
  if (!options.json) printError(`Starting the servers of ${printableLine(path)} in a sandbox …`)
  const proposal = await client.proposeAgent({
    body: {
      fileName: path === '-' ? 'agent.json' : basename(path),
      content: bytes.toString('base64'),
      folder: path === '-' ? process.cwd() : dirname(resolve(path)),
      ...(options.name !== undefined && { name: options.name }),
      ...place,
    },
  })
  if (!options.json) present(proposal)
  const skip = options.skip ?? (proposal.leftOut.length > 0 && !options.yes && !options.json)
  const [missing] = proposal.leftOut
  if (missing && !skip) throw cannotUse(proposal)
  if (!(await confirm(question(proposal, project?.name), options))) return exitCode.findings

  const replace = options.replace ?? false
  const added = await client.addAgent({ body: { digest: proposal.digest, ...place, skip, replace } })
  if (options.json) printJson({ agent: added, proposal })
  else
    print(`Added ${added.name}: ${printableLine(added.file)}. Use it with: matrix send root --agent ${added.name} "…"`)
  return exitCode.ok
}

async function projectOf(named: string | true) {
  return (await openProject(named === true ? {} : { project: named })).project
}

function question({ name, leftOut, replaces }: AgentProposalView, project: string | undefined): string {
  const where = project === undefined ? 'for all of your projects' : `in the repository of ${printableLine(project)}`
  const without = leftOut.length > 0 ? ` without ${leftOut.map(({ alias }) => printableLine(alias)).join(', ')}` : ''
  const instead = replaces.some(({ source }) => source !== 'shipped') ? ' An agent of this name exists.' : ''
  return `Add "${name}" ${where}${without}?${instead}`
}

function cannotUse({ leftOut }: AgentProposalView): MatrixError {
  const reasons = leftOut.map(({ alias, reason }) => `${alias}: ${reason}`).join(' ')
  return new MatrixError('SERVER_UNAVAILABLE', `Not every server can be used. ${reasons}`, {
    hint: 'Install what is missing, or add the agent without these servers with --skip.',
  })
}

/** On stderr, so that the answer stays what programs read. */
function present({ name, words, servers, leftOut, findings, suspicions, notes }: AgentProposalView): void {
  const { bold, dim, yellow, red } = colorsFor(process.stderr)
  for (const { severity, rule, message, line, column } of findings)
    if (severity !== 'note') printError(`${yellow(severity)} ${rule} ${line}:${column} ${printableLine(message)}`)
  for (const note of notes) printError(`${yellow('note')} ${printableLine(note)}`)
  for (const suspicion of suspicions) printError(`${red('warning')} ${printableLine(suspicion)}`)
  for (const { alias, from, tools } of servers) {
    printError(`${bold(alias)}  ${dim(printableLine(from))}`)
    for (const { name: tool, sideEffect, reason } of tools)
      printError(`  ${sideEffect.padEnd(7)} ${printableLine(tool)}  ${dim(printableLine(reason))}`)
  }
  for (const { alias, reason, hint } of leftOut)
    printError(`${yellow('left out')} ${printableLine(alias)}: ${printableLine(reason)} ${dim(printableLine(hint))}`)
  printError(bold(`What ${printableLine(name)} may do:`))
  for (const sentence of words) printError(`  ${printableLine(sentence)}`)
}
