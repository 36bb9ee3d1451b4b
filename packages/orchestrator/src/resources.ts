import { basename, dirname, join, relative, resolve } from 'node:path'
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

type Rules = Pick<Policy, 'resources' | 'toolsSettings'>

/** Reads what `resources` names: relative to the worktree, below `~`, or by the whole path; never through a link that leads out. */
export async function readResources(files: Files, rules: Rules, base: PathBase): Promise<Resource[]> {
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
      if (matches(path)) places.set(path, { path, inside, isNamed: false })
  }
  return [...places.values()]
}

/** Every file below a folder, as far as anybody would want to read: not what git and package managers keep. */
async function walk(files: Files, folder: string): Promise<string[]> {
  const found: string[] = []
  let visited = 0
  const visit = async (path: string, depth: number): Promise<void> => {
    for (const name of await files.list(path).catch(() => [])) {
      visited += 1
      if (visited > MAX_VISITED || name === '.git' || name === 'node_modules') continue
      const each = join(path, name)
      if (!(await files.isDirectory(each))) found.push(each)
      else if (depth < MAX_DEPTH) await visit(each, depth + 1)
    }
  }
  await visit(folder, 0)
  return found
}

async function readPlace(
  files: Files,
  { path, inside, isNamed }: Place,
  { rules, base }: { rules: Rules; base: PathBase },
): Promise<Omit<Resource, 'path'> | undefined> {
  const { deniedPaths = [], allowedPaths } = rules.toolsSettings.read_file ?? {}
  const isAllowed =
    !isPathDenied(deniedPaths, path, base) && (!allowedPaths || matchesPathList(allowedPaths, path, base))
  if (!isAllowed)
    return isNamed ? { text: '', notes: ['not read: the settings of fs-read do not allow it'] } : undefined
  try {
    const text = await files.read(path, { inside })
    if (text === undefined) return isNamed ? { text: '', notes: ['not read: it does not exist'] } : undefined
    const shown = removeInvisible(text.trim())
    return { text: shown.text, notes: shown.removed > 0 ? [`${shown.removed} invisible characters were removed`] : [] }
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return { text: '', notes: [`not read: ${error.message}`] }
  }
}

function shownPath(path: string, { cwd, home }: PathBase): string {
  const way = relative(cwd, path)
  if (way !== '' && !way.startsWith('..') && resolve(cwd, way) === path) return way
  return path.startsWith(`${home}/`) ? join('~', relative(home, path)) : join(dirname(path), basename(path))
}
