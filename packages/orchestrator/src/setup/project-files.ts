import { posix } from 'node:path'

/** What detection looks at. */
export type ProjectFiles = {
  /** Tracked files, relative to the repository. */
  paths: readonly string[]
  /** Undefined where there is no such file, or none that can be read. */
  read(path: string): Promise<string | undefined>
  /** Whether a program of this name is on the PATH. */
  hasProgram(name: string): boolean
}

/** One folder of a project, as the rules of an ecosystem look at it. */
export type Folder = {
  /** Empty for the repository itself. */
  path: string
  has(name: string): boolean
  read(name: string): Promise<string | undefined>
  hasProgram(name: string): boolean
}

const DEEPEST = 2
const MOST_FOLDERS = 4
/** Folders whose projects are not what people work on. */
const aside =
  /(^|\/)(\.[^/]+|tests?|specs?|fixtures?|examples?|samples?|vendor|third[_-]?party|node_modules|docs?|templates?|bench(marks?)?|debian)(\/|$)/i

/** The folders that hold one of these files: the repository itself alone if it does, else those a little below. */
export function findFolders(files: ProjectFiles, isMarker: (name: string) => boolean): Folder[] {
  const folders = new Set<string>()
  for (const path of files.paths) if (isMarker(posix.basename(path))) folders.add(folderOf(path))
  if (folders.has('')) return [openFolder(files, '')]
  const near = [...folders].filter((path) => path.split('/').length <= DEEPEST && !aside.test(path)).toSorted()
  return near.slice(0, MOST_FOLDERS).map((path) => openFolder(files, path))
}

export function openFolder(files: ProjectFiles, path: string): Folder {
  const names = new Set(files.paths.filter((each) => folderOf(each) === path).map((each) => posix.basename(each)))
  return {
    path,
    has: (name) => names.has(name),
    read: (name) => files.read(posix.join(path, name)),
    hasProgram: files.hasProgram,
  }
}

function folderOf(path: string): string {
  const folder = posix.dirname(path)
  return folder === '.' ? '' : folder
}

const languages: Record<string, string> = {
  ts: 'TypeScript',
  tsx: 'TypeScript',
  mts: 'TypeScript',
  cts: 'TypeScript',
  js: 'JavaScript',
  jsx: 'JavaScript',
  mjs: 'JavaScript',
  cjs: 'JavaScript',
  py: 'Python',
  rs: 'Rust',
  go: 'Go',
  c: 'C',
  h: 'C',
  cc: 'C++',
  cpp: 'C++',
  cxx: 'C++',
  hpp: 'C++',
  java: 'Java',
  kt: 'Kotlin',
  kts: 'Kotlin',
  rb: 'Ruby',
  php: 'PHP',
  cs: 'C#',
  ex: 'Elixir',
  exs: 'Elixir',
  dart: 'Dart',
  swift: 'Swift',
  scala: 'Scala',
  sh: 'Shell',
  lua: 'Lua',
}

/** The languages of at least a tenth of the source files, most used first. */
export function findLanguages({ paths }: ProjectFiles): string[] {
  const counts = new Map<string, number>()
  for (const path of paths) {
    const extension = posix.extname(path).slice(1).toLowerCase()
    const language = Object.hasOwn(languages, extension) ? languages[extension] : undefined
    if (language !== undefined) counts.set(language, (counts.get(language) ?? 0) + 1)
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return [...counts]
    .filter(([, count]) => count * 10 >= total)
    .toSorted(([, a], [, b]) => b - a)
    .map(([language]) => language)
}
