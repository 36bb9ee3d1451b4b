import { resolve } from 'node:path'
import { printableLine } from '@matrix/protocol'
import { formatUsd } from '@matrix/protocol/display'
import type { ProjectView } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { connect, projectNamed } from '../place.ts'
import { confirm } from '../prompt.ts'
import { formatTable } from '../table.ts'
import { colorsFor, print, printJson, terminalWidth } from '../terminal.ts'

type Options = { json?: boolean }

export async function listProjects({ json }: Options): Promise<ExitCode> {
  const projects = await (await connect()).listProjects()
  if (json) printJson(projects)
  else print(projects.length === 0 ? 'No projects yet. Run matrix init in a git repository.' : formatProjects(projects))
  return exitCode.ok
}

export async function addProject(path: string, { name, json }: Options & { name?: string }): Promise<ExitCode> {
  const client = await connect()
  const project = await client.registerProject({ body: { path: resolve(path), ...(name ? { name } : {}) } })
  return report(project, `Added ${project.name} (${project.path}).`, json)
}

export async function renameProject(project: string, name: string, { json }: Options): Promise<ExitCode> {
  return update(project, { name }, (now) => `It is called ${now.name} now.`, json)
}

export async function moveProject(project: string, path: string, { json }: Options): Promise<ExitCode> {
  return update(project, { path: resolve(path) }, (now) => `${now.name} is at ${now.path} now.`, json)
}

export async function removeProject(name: string, { yes, json }: Options & { yes?: boolean }): Promise<ExitCode> {
  const client = await connect()
  const project = await projectNamed(await client.listProjects(), name)
  if (!(await confirm(`Forget ${printableLine(project.name)}? Its data stays on disk.`, { yes })))
    return exitCode.findings
  await client.deregisterProject({ projectId: project.id })
  return report(project, `Forgot ${project.name}. The repository and everything its agents did are still there.`, json)
}

async function update(
  name: string,
  body: { name?: string; path?: string },
  say: (project: ProjectView) => string,
  json: boolean | undefined,
): Promise<ExitCode> {
  const client = await connect()
  const { id } = await projectNamed(await client.listProjects(), name)
  const project = await client.updateProject({ projectId: id, body })
  return report(project, say(project), json)
}

function report(project: ProjectView, text: string, json: boolean | undefined): ExitCode {
  if (json) printJson(project)
  else print(printableLine(text))
  return exitCode.ok
}

function formatProjects(projects: readonly ProjectView[]): string {
  const { dim, red } = colorsFor(process.stdout)
  const rows = projects.map((project) => [
    printableLine(project.name),
    dim(project.id.slice(0, 10)),
    `${project.agents.working}/${project.agents.live}`,
    formatUsd(project.costUsd),
    project.problem ? red(printableLine(project.problem.message)) : dim(printableLine(project.path)),
  ])
  const columns = [
    { heading: 'project' },
    { heading: 'id' },
    { heading: 'working', align: 'right' as const },
    { heading: 'cost', align: 'right' as const },
    { heading: 'where' },
  ]
  return formatTable(columns, rows, terminalWidth()).join('\n')
}
