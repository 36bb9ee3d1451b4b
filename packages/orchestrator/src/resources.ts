import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import {
  compilePathList,
  fixedFolders,
  isPathDenied,
  isReadablePath,
  matchesPathList,
  type PathBase,
  type Policy,
} from '@matrix/manifest'
import { MatrixError, removeInvisible } from '@matrix/protocol'
import type { Files } from './world.ts'

/** A file that the agent's own file gives it to read, or why it could not be read. */
export type Resource = { path: string; text: string; notes: string[] }

const MAX_FILE = 32_000
const MAX_ALL = 64_000
const MAX_FILES = 50
const MAX_VISITED = 5_000
const MAX_DEPTH = 12

type Base = PathBase & {
  /** Where Matrix keeps what is the user's, and the worktrees. */
  dataDirectory: string
}

type Rules = Pick<Policy, 'resources' | 'toolsSettings'>

/** Reads what `resources` names: relative to the worktree, below `~`, or by the whole path; never through a link that leads out. */
export async function readResources(files: Files, rules: Rules, base: Base): Promise<Resource[]> {
  const found: Resource[] = []
  let left = MAX_ALL
  for (const place of await findPlaces(files, rules.resources, base)) {
    if (found.length >= MAX_FILES) break
    const read = await readPlace(files, place, { rules, base })
    if (!read) continue
    const text = read.text.slice(0, Math.min(MAX_FILE, left))
    const cut = text.length < read.text.length ? [`cut after ${text.length} of ${read.text.length} characters`] : []
    left -= text.length
    found.push({ path: shownPath(place.path, base), text, notes: [...read.notes, ...cut] })
  }
  return found
}

/** `isNamed`: whether the file itself is named, so that it is said when it is not there. */
type Place = { path: string; inside: string; isNamed: boolean }

async function findPlaces(files: Files, resources: readonly string[], base: PathBase): Promise<Place[]> {
  const places = new Map<string, Place>()
  for (const resource of resources) {
    const entry = resource.replace(/^file:\/\//, '')
    if (!isReadablePath(entry)) continue
    const isRelative = !/^(?:\/|~)/.test(entry)
    const [whole, start] = fixedFolders(entry, base)
    if (!whole) continue
    if (!start) {
      const { path } = whole
      places.set(path, { path, inside: isRelative ? base.cwd : dirname(path), isNamed: true })
      continue
    }
    const inside = isRelative ? base.cwd : start.path
    const matches = compilePathList([entry], base)
    for (const path of await walk(files, start.path))
      if (matches(path) && !places.has(path)) places.set(path, { path, inside, isNamed: false })
  }
  return [...places.values()]
}

/** Every file below a folder, as far as anybody would want to read: not what git and package managers keep, nor behind links. */
async function walk(files: Files, folder: string): Promise<string[]> {
  const found: string[] = []
  let visited = 0
  const realPath = (path: string) => files.realPath(path).catch(() => undefined)
  const visit = async (path: string, real: string, depth: number): Promise<void> => {
    for (const name of await files.list(path).catch(() => [])) {
      visited += 1
      if (visited > MAX_VISITED || name === '.git' || name === 'node_modules') continue
      const each = join(path, name)
      if (!(await files.isDirectory(each))) found.push(each)
      else if (depth < MAX_DEPTH && (await realPath(each)) === join(real, name))
        await visit(each, join(real, name), depth + 1)
    }
  }
  const start = await realPath(folder)
  if (start !== undefined) await visit(folder, start, 0)
  return found
}

/** A file that a pattern found and that is refused is not named: its name is nothing that the agent was given. */
async function readPlace(
  files: Files,
  { path, inside, isNamed }: Place,
  { rules, base }: { rules: Rules; base: Base },
): Promise<Omit<Resource, 'path'> | undefined> {
  const { deniedPaths = [], allowedPaths } = rules.toolsSettings.read_file ?? {}
  const isAllowed =
    !isPathDenied(deniedPaths, path, base) && (!allowedPaths || matchesPathList(allowedPaths, path, base))
  const refuse = (reason: string) => (isNamed ? { text: '', notes: [`not read: ${reason}`] } : undefined)
  if (!isAllowed) return refuse('the settings of fs-read do not allow it')
  try {
    if (await isKept(files, path, base)) return refuse('it lies in the data directory of Matrix')
    const text = await files.read(path, { inside })
    if (text === undefined) return refuse('it does not exist')
    const shown = removeInvisible(text.trim())
    return { text: shown.text, notes: shown.removed > 0 ? [`${shown.removed} invisible characters were removed`] : [] }
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return refuse(error.message)
  }
}

/** Keys and approvals are for no agent, whoever approved it. Its worktree lies there too. */
async function isKept(files: Files, path: string, { cwd, home, dataDirectory }: Base): Promise<boolean> {
  const realPath = async (each: string) => (await files.realPath(each)) ?? each
  const [real, worktree, ...kept] = await Promise.all([path, cwd, dataDirectory, join(home, '.mxd')].map(realPath))
  return kept.some((folder) => isBelow(real, folder)) && !isBelow(real, worktree)
}

function isBelow(path = '', folder = ''): boolean {
  return path === folder || path.startsWith(`${folder}${sep}`)
}

function shownPath(path: string, { cwd, home }: PathBase): string {
  const way = relative(cwd, path)
  if (way !== '' && !way.startsWith('..') && resolve(cwd, way) === path) return way
  return path.startsWith(`${home}/`) ? join('~', relative(home, path)) : join(dirname(path), basename(path))
}
