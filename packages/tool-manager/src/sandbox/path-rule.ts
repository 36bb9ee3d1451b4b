import { lstatSync, readdirSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { compilePathList, fixedFolders, type PathBase } from '@matrix/manifest'
import { isWithin } from './mount.ts'

/** The lists of paths that every tool of a process is held to. */
export type PathRules = {
  denied: readonly string[]
  /** Undefined where every path that is not denied is open. */
  allowed?: readonly string[] | undefined
  base: PathBase
}

/** The same as what there is: paths to hide, and the only paths of the worktree that are there at all. */
export type RuledPaths = { hidden: string[]; only: string[] | undefined }

/** Looks up which files and folders the rules speak of. What is made later is not covered until the next sandbox. */
export function findRuledPaths({ denied, allowed, base }: PathRules): RuledPaths {
  const only =
    allowed && outermost(findPaths(allowed.map(wholeFolder), base)).filter((path) => isWithin(path, base.cwd))
  return { hidden: outermost(findPaths(denied, base)), only }
}

/** `src/**` and `src/*` are the folder itself, so that files can be added to it. */
function wholeFolder(entry: string): string {
  return entry.replace(/(?:\/\*{1,2})+$/, '') || '/'
}

function findPaths(entries: readonly string[], base: PathBase): string[] {
  const found: string[] = []
  const plain = entries.flatMap((entry) => fixedFolders(entry, base))
  for (const { path, isWhole } of plain) if (isWhole) add(path, found)
  const isListed = compilePathList(entries, base)
  for (const { path, isWhole } of plain)
    if (!isWhole) search(isWithin(base.cwd, path) ? base.cwd : path, isListed, found)
  return found
}

/** A link is followed: what it leads to is what is read through it. */
function add(path: string, found: string[]): void {
  try {
    found.push(realpathSync(path))
  } catch {}
}

function search(folder: string, isListed: (path: string) => boolean, found: string[]): void {
  if (isListed(folder)) {
    add(folder, found)
    return
  }
  for (const entry of list(folder)) {
    const path = join(folder, entry.name)
    if (isListed(path)) add(path, found)
    else if (entry.isDirectory()) search(path, isListed, found)
  }
}

function list(folder: string) {
  try {
    return lstatSync(folder).isDirectory() ? readdirSync(folder, { withFileTypes: true }) : []
  } catch {
    return []
  }
}

function outermost(paths: readonly string[]): string[] {
  const all = [...new Set(paths.map((path) => resolve(path)))]
  return all.filter((path) => !all.some((other) => other !== path && isWithin(path, other))).sort()
}
