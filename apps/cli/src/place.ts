import { realpath } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Client } from '@matrix/client'
import { MatrixError, printableLine } from '@matrix/protocol'
import type { ProjectView, TaskView } from '@matrix/protocol/http'
import { dataFolder } from './data-folder.ts'

export type PlaceOptions = { project?: string }

/** The daemon, and the project that a command is about. */
export type Place = { client: Client; project: ProjectView }

/** The client of the daemon of this data directory. */
export async function connect(): Promise<Client> {
  return (await import('@matrix/client/node')).connectLocal(dataFolder())
}

/** The project that is named, or the one whose repository, or an agent's worktree of it, the command was started in. */
export async function openProject({ project: named }: PlaceOptions): Promise<Place> {
  const client = await connect()
  const projects = await client.listProjects()
  return { client, project: named === undefined ? await projectHere(projects) : await projectNamed(projects, named) }
}

export async function projectNamed(projects: readonly ProjectView[], name: string): Promise<ProjectView> {
  const folder = await realFolder(name)
  const exact = projects.filter((one) => one.id === name || one.name === name || one.path === folder)
  const found = exact.length > 0 ? exact : projects.filter((one) => startsLike(one.id, name))
  const [first, ...others] = found
  if (first && others.length === 0) return first
  throw new MatrixError(
    'PROJECT_UNKNOWN',
    first ? `${named(name)} may be ${listNames(found, 'id')}.` : `There is no project ${named(name)}.`,
    { hint: first ? 'Give the id of one of them.' : knownProjects(projects) },
  )
}

async function projectHere(projects: readonly ProjectView[]): Promise<ProjectView> {
  const here = await realFolder(process.cwd())
  const containing = projects.filter(({ id, path }) =>
    [path, join(dataFolder(), 'projects', id)].some((folder) => contains(folder, here)),
  )
  // A repository inside another one: the nearest is meant.
  const [nearest] = containing.sort((a, b) => b.path.length - a.path.length)
  if (nearest) return nearest
  throw new MatrixError('PROJECT_UNKNOWN', `${here} is in no project of Matrix.`, { hint: knownProjects(projects) })
}

function knownProjects(projects: readonly ProjectView[]): string {
  if (projects.length === 0) return 'Run matrix init in a repository to register it.'
  return `There is ${listNames(projects, 'name')}: name one with --project, or register a repository with matrix init.`
}

function listNames(projects: readonly ProjectView[], field: 'id' | 'name'): string {
  return projects.map((project) => printableLine(project[field])).join(', ')
}

/** A project that is there but cannot be used says why, before anything is asked of it. */
export function assertUsable(project: ProjectView): void {
  if (project.problem)
    throw new MatrixError('PROJECT_UNUSABLE', project.problem.message, {
      hint: `${project.problem.hint} matrix daemon restart looks again.`,
    })
}

/** A task, and the tree that it is in. */
export type TaskPlace = Place & { task: TaskView; tasks: TaskView[] }

/** A task by `root`, by the first characters of its id, or by a part of its title that no other has. */
export async function openTask(name: string, options: PlaceOptions): Promise<TaskPlace> {
  const place = await openProject(options)
  assertUsable(place.project)
  const tasks = await place.client.listTasks({ projectId: place.project.id })
  return { ...place, task: findTask(tasks, name), tasks }
}

export function findTask(tasks: readonly TaskView[], name: string): TaskView {
  const [only, ...others] = candidates(tasks, name)
  if (only && others.length === 0) return only
  if (!only)
    throw new MatrixError('TASK_UNKNOWN', `There is no task ${named(name)}.`, {
      hint: 'matrix tree lists the tasks; use root, the first characters of an id, or a part of a title.',
    })
  const list = [only, ...others].slice(0, 5).map(({ id, title }) => `${id} (${printableLine(title)})`)
  throw new MatrixError('TASK_AMBIGUOUS', `${named(name)} may be ${list.join(', ')}.`)
}

function candidates(tasks: readonly TaskView[], name: string): TaskView[] {
  if (name === 'root') return tasks.filter(({ parentId }) => parentId === null)
  const byId = tasks.filter(({ id }) => startsLike(id, name))
  if (byId.length > 0) return byId
  const words = name.toLowerCase()
  const exact = tasks.filter(({ title }) => title.toLowerCase() === words)
  if (exact.length > 0) return exact
  return words.length < 3 ? [] : tasks.filter(({ title }) => title.toLowerCase().includes(words))
}

function startsLike(id: string, prefix: string): boolean {
  return prefix !== '' && id.startsWith(prefix.toUpperCase())
}

function named(text: string): string {
  return `“${printableLine(text)}”`
}

async function realFolder(path: string): Promise<string> {
  return realpath(resolve(path)).catch(() => resolve(path))
}

function contains(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}
