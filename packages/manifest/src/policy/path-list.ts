import { posix } from 'node:path'
import { compileGlob } from './glob.ts'

/** Where relative entries and `~` start; both absolute. */
export type PathBase = { cwd: string; home: string }

/**
 * Whether a path, as the tool is about to open it (links resolved by the caller), is one of the entries or below one.
 * Entries may be absolute, relative or start with `~`, and may hold wildcards, which cross `/`.
 */
export function matchesPathList(paths: readonly string[], path: string, base: PathBase): boolean {
  const absolute = posix.resolve(base.cwd, path)
  return paths.some((entry) => compileEntry(entry, base)?.(absolute) === true)
}

/** Also when an entry cannot be read: what somebody meant to deny is not let through because of a typing error. */
export function isPathDenied(paths: readonly string[], path: string, base: PathBase): boolean {
  const absolute = posix.resolve(base.cwd, path)
  return paths.some((entry) => compileEntry(entry, base)?.(absolute) !== false)
}

/** The same as `matchesPathList` for many absolute paths. */
export function compilePathList(paths: readonly string[], base: PathBase): (path: string) => boolean {
  const entries = paths.map((entry) => compileEntry(entry, base))
  return (path) => entries.some((matches) => matches?.(path) === true)
}

/** Where what an entry names is to be looked for: the entry itself, and for one with wildcards the folder before the first. */
export function fixedFolders(entry: string, base: PathBase): { path: string; isWhole: boolean }[] {
  const whole = { path: resolveEntry(entry, base, (name) => name), isWhole: true }
  const start = startOf(resolveEntry(entry, base, escapeGlob))
  return start === undefined ? [whole] : [whole, { path: start, isWhole: false }]
}

/** Whether something that is denied may lie in a folder, as far as the plain folders of an entry tell. */
export function mayHoldDenied(paths: readonly string[], folder: string, base: PathBase): boolean {
  const absolute = posix.resolve(base.cwd, folder)
  return paths.some((entry) => {
    const glob = resolveEntry(entry, base, escapeGlob)
    const start = startOf(glob)
    const plain = resolveEntry(entry, base, (name) => name)
    if (start === undefined) return isBelow(plain, absolute)
    return isBelow(start, absolute) || isBelow(absolute, start) || isBelow(plain, absolute)
  })
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)
}

/** Whether the wildcards of an entry are well-formed. */
export function isReadablePath(entry: string): boolean {
  return entry !== '' && compileGlob(entry) !== undefined
}

/** The plain folders before the first wildcard, if there is one. */
function startOf(glob: string): string | undefined {
  const wildcard = glob.search(/(?<!\\)[*?[{]/)
  if (wildcard === -1) return undefined
  return glob.slice(0, glob.lastIndexOf('/', wildcard)).replace(/\\(.)/g, '$1') || '/'
}

/** Answers `undefined` beside the entry as it is spelled when its wildcards cannot be read. */
function compileEntry(entry: string, base: PathBase): ((path: string) => boolean | undefined) | undefined {
  if (entry === '') return undefined
  // A folder may really be called `[id]`, so the entry also counts as it is spelled.
  const plain = resolveEntry(entry, base, (name) => name)
  const glob = resolveEntry(entry, base, escapeGlob)
  let patterns: ReturnType<typeof compileGlob>[] | undefined
  return (path) => {
    if (isBelow(path, plain)) return true
    patterns ??= [glob, `${glob === '/' ? '' : glob}/**`].map(compileGlob)
    const [itself, below] = patterns
    return itself && below && (itself(path) || below(path))
  }
}

/** The folders an entry is relative to are names, not patterns, whatever characters they hold. */
function resolveEntry(entry: string, { cwd, home }: PathBase, spell: (name: string) => string): string {
  const isHome = entry === '~' || entry.startsWith('~/')
  const start = isHome ? home : entry.startsWith('/') ? '/' : cwd
  const segments = start.split('/').filter(Boolean).map(spell)
  for (const segment of (isHome ? entry.slice(1) : entry).split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  return `/${segments.join('/')}`
}

function escapeGlob(name: string): string {
  return name.replace(/[*?[\]{}\\]/g, '\\$&')
}
