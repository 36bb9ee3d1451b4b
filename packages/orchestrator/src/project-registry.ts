import { basename, join, relative, sep } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import { type Problem, ProjectId } from '@matrix/protocol/http'
import * as z from 'zod'
import type { World } from './world.ts'

/** A git repository as the registry has to know it. All paths are real ones: no links on the way. */
export type FoundRepository = {
  /** The folder that is checked out. */
  root: string
  /** The git directory that all worktrees of the repository share. */
  gitDirectory: string
  /** Its oldest commit: what stays the same when the folder moves. Null when there is no commit yet. */
  firstCommit: string | null
}

/** Looks for the repository that a folder belongs to. */
export type FindRepository = (path: string) => Promise<FoundRepository | undefined>

const Entry = z.object({
  id: ProjectId,
  name: z.string().trim().min(1).max(200),
  path: z.string().min(1),
  gitDirectory: z.string().min(1),
  firstCommit: z.string().nullable(),
  registeredAt: z.iso.datetime(),
  /** A project that was taken off the list. Its data is kept, and found again when it is registered anew. */
  deregisteredAt: z.iso.datetime().nullable(),
})
type Entry = z.infer<typeof Entry>

export type Project = Omit<Entry, 'deregisteredAt'>

export type ProjectRegistry = {
  /** What was found wrong with the file when it was opened. */
  readonly problems: readonly Problem[]
  /** In the order they were registered. */
  list(): Project[]
  find(id: string): Project | undefined
  get(id: string): Project
  register(input: { path: string; name?: string | undefined }): Promise<Project>
  /** Renames it, or says where the same repository lies now. */
  update(id: string, change: { name?: string | undefined; path?: string | undefined }): Promise<Project>
  /** Takes it off the list; nothing of it is deleted. */
  deregister(id: string): Promise<void>
}

export type RegistryOptions = {
  /** A real path. */
  dataDirectory: string
  findRepository: FindRepository
}

/** The list of projects, `projects.json` of the data directory. */
export async function openProjectRegistry(
  { files, clock, newId }: Pick<World, 'files' | 'clock' | 'newId'>,
  { dataDirectory, findRepository }: RegistryOptions,
): Promise<ProjectRegistry> {
  const file = join(dataDirectory, 'projects.json')
  const { entries: kept, problems } = await load()
  let entries = kept
  let tail: Promise<unknown> = Promise.resolve()

  async function load(): Promise<{ entries: Entry[]; problems: Problem[] }> {
    const text = await files.read(file)
    if (text === undefined) return { entries: [], problems: [] }
    const { entries, damage } = readEntries(text)
    if (damage === undefined) return { entries, problems: [] }

    const aside = `${file}.damaged-${new Date(clock.now()).toISOString().replaceAll(/[:.]/g, '-')}`
    await files.write(aside, text)
    await files.write(file, format(entries))
    const message = `${file} was damaged (${damage}): ${entries.length} projects could be read. The file is kept as ${aside}.`
    const hint = 'Register what is missing again with matrix init; the data of every project is still there.'
    return { entries, problems: [{ code: 'PROJECT_UNUSABLE', message, hint }] }
  }

  /** One change at a time, and known to others only once it is on disk. */
  function change<Result>(edit: (entries: Entry[]) => Promise<{ next: Entry[]; result: Result }>): Promise<Result> {
    const done = tail.then(async () => {
      const { next, result } = await edit(entries)
      await files.write(file, format(next))
      entries = next
      return result
    })
    tail = done.catch(() => {})
    return done
  }

  const listed = () => entries.filter(({ deregisteredAt }) => deregisteredAt === null)
  const find = (id: string) => listed().find((entry) => entry.id === id)
  const get = (id: string) => {
    const entry = find(id)
    if (entry) return entry
    throw new MatrixError('PROJECT_UNKNOWN', `There is no project ${JSON.stringify(id.slice(0, 100))}.`)
  }

  async function getRepository(path: string): Promise<FoundRepository> {
    const found = await findRepository(path)
    if (!found)
      throw new MatrixError('REPOSITORY_UNUSABLE', `${path} is not a git repository.`, {
        hint: 'Run git init there and make a first commit, or name another folder.',
      })
    if (isInside(found.root, join(dataDirectory, 'projects')))
      throw new MatrixError('PROJECT_UNUSABLE', `${found.root} belongs to Matrix itself.`, {
        hint: 'Name the repository of your own that the worktree was made from.',
      })
    if (isInside(dataDirectory, found.root))
      throw new MatrixError('PROJECT_UNUSABLE', `The data directory ${dataDirectory} lies inside ${found.root}.`, {
        hint: 'Agents could read keys and sessions there: move it with MXD_DATA_DIR, or name another repository.',
      })
    return found
  }

  /** Two worktrees are still one repository: its branches and hooks would be shared. */
  function refuseDuplicate(found: FoundRepository, except?: string): void {
    const other = listed().find(
      ({ id, path, gitDirectory }) => id !== except && (path === found.root || gitDirectory === found.gitDirectory),
    )
    if (!other) return
    throw new MatrixError('PROJECT_EXISTS', `${found.root} is the project "${other.name}" (${other.id}) already.`)
  }

  return {
    problems,
    list: () => listed().map(toProject),
    find: (id) => mapFound(find(id)),
    get: (id) => toProject(get(id)),

    register: ({ path, name }) =>
      change(async (before) => {
        const found = await getRepository(path)
        refuseDuplicate(found)
        const known = before.find((entry) => entry.path === found.root && isSame(entry, found))
        const entry: Entry = {
          id: known?.id ?? newId(),
          name: name ?? known?.name ?? (basename(found.root) || found.root),
          path: found.root,
          gitDirectory: found.gitDirectory,
          firstCommit: found.firstCommit,
          registeredAt: new Date(clock.now()).toISOString(),
          deregisteredAt: null,
        }
        return { next: [...before.filter((each) => each !== known), entry], result: toProject(entry) }
      }),

    update: (id, { name, path }) =>
      change(async (before) => {
        const entry = get(id)
        const moved = path === undefined ? {} : await relocate(entry, path)
        const next = { ...entry, ...moved, ...(name !== undefined && { name }) }
        return { next: before.map((each) => (each === entry ? next : each)), result: toProject(next) }
      }),

    deregister: (id) =>
      change(async (before) => {
        const entry = get(id)
        const gone = { ...entry, deregisteredAt: new Date(clock.now()).toISOString() }
        return { next: before.map((each) => (each === entry ? gone : each)), result: undefined }
      }),
  }

  async function relocate(entry: Entry, path: string): Promise<Partial<Entry>> {
    const found = await getRepository(path)
    refuseDuplicate(found, entry.id)
    if (!isSame(entry, found))
      throw new MatrixError(
        'PROJECT_UNUSABLE',
        `${found.root} is not the repository of "${entry.name}": it began with another commit.`,
        {
          hint: 'Name the place the same repository has moved to, or register this one as a project of its own.',
        },
      )
    return { path: found.root, gitDirectory: found.gitDirectory, firstCommit: found.firstCommit }
  }
}

/** A repository that had no commit yet is known by its path alone. */
function isSame(entry: Entry, found: FoundRepository): boolean {
  return entry.firstCommit === null ? entry.path === found.root : entry.firstCommit === found.firstCommit
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !/^(?:[A-Za-z]:|[\\/])/.test(way))
}

function toProject({ deregisteredAt: _gone, ...project }: Entry): Project {
  return project
}

function mapFound(entry: Entry | undefined): Project | undefined {
  return entry && toProject(entry)
}

function format(projects: readonly Entry[]): string {
  return `${JSON.stringify({ projects }, null, 2)}\n`
}

/** Every entry that can be read, and what is wrong with the rest. */
function readEntries(text: string): { entries: Entry[]; damage: string | undefined } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { entries: [], damage: error instanceof Error ? error.message : 'it is not JSON' }
  }
  const parsed = z.object({ projects: z.array(z.unknown()) }).safeParse(value)
  if (!parsed.success) return { entries: [], damage: 'it holds no list of projects' }
  const entries = parsed.data.projects.flatMap((each) => Entry.safeParse(each).data ?? [])
  const lost = parsed.data.projects.length - entries.length
  return { entries, damage: lost > 0 ? `${lost} entries are not projects` : undefined }
}
