import { posix } from 'node:path'
import { type Content, differs } from './flag-content.ts'
import { type FlagRule, flagRules } from './flag-rules.ts'

/** A file as a change leaves it. Modes are those of git: 100644, 100755 (executable), 120000 (link), 160000 (submodule). */
export type ChangedFile = {
  path: string
  oldMode: string
  newMode: string
  /** Only where `needsContent` asks for it. */
  old?: Content
  new?: Content
}

export type FlagPlace = {
  /** The folder of git hooks inside the repository, as `core.hooksPath` says. */
  hooksPath?: string | undefined
  /** Links of the repository whose names have a rule, with each path that they lead to. */
  links?: readonly { name: string; target: string }[]
}

/** The reasons, each a sentence, why a file runs by itself for those who open, install or commit. None for most files. */
export function findReasons(file: ChangedFile, place: FlagPlace = {}): string[] {
  const names = namesOf(file.path, place)
  const rules = flagRules.filter((rule) => names.some((name) => isNamed(rule, name, file.newMode)))
  return [
    ...reasonsOfMode(file),
    ...(names.some((name) => isHook(name, place.hooksPath))
      ? ['Git runs it as a hook: core.hooksPath names its folder.']
      : []),
    ...(names.some((name) => shortName.test(name)) ? ['On Windows its name can stand for another folder.'] : []),
    ...rules.filter((rule) => file.newMode === link || differs(rule, file.old, file.new)).map(({ reason }) => reason),
  ]
}

/** Whether it takes more than the name of a file to say whether it runs by itself. */
export function needsContent(path: string, newMode: string, place: FlagPlace = {}): boolean {
  if (newMode === link) return true
  const named = flagRules.filter((rule) => namesOf(path, place).some((name) => isNamed(rule, name, newMode)))
  return named.some(({ lines, unlessLines, keys, sources, hosts }) => lines ?? unlessLines ?? keys ?? sources ?? hosts)
}

/** Whether a link of this name gives a rule to the files that it leads to. */
export function isRuledLink(path: string): boolean {
  return flagRules.some((rule) => isNamed(rule, normalise(path), link))
}

const link = '120000'
const submodule = '160000'
const executable = '100755'

function reasonsOfMode({ path, oldMode, newMode, new: content }: ChangedFile): string[] {
  if (newMode === submodule) return ['It is a submodule: git fetches another repository to this place.']
  if (newMode === link) return isLeadingOut(path, content) ? ['It is a link that leads out of the repository.'] : []
  return newMode === executable && oldMode !== executable ? ['It is a new executable.'] : []
}

function isLeadingOut(path: string, target: Content): boolean {
  if (typeof target !== 'string') return true
  if (/^([/\\~]|[a-z]:)/i.test(target) || target.includes('\\')) return true
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const down = parts.findIndex((part) => part !== '..')
  // Behind a folder, `..` need not lead back: the folder may be a link itself.
  if (down !== -1 && parts.indexOf('..', down) !== -1) return true
  const resolved = posix.join(posix.dirname(path), target)
  return resolved === '..' || resolved.startsWith('../') || /(^|\/)\.git(\/|$)/i.test(resolved)
}

// The characters that file systems of macOS and Windows drop from names.
const ignored = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g
const shortName = /(^|\/)[^/]{1,8}~\d+(\.[^/]{0,3})?(\/|$)/

/** The names by which a file can be found, in lower case: its own, and those that links give it. */
function namesOf(path: string, { links = [] }: FlagPlace): string[] {
  const through = links.flatMap(({ name, target }) =>
    path === target || path.startsWith(`${target}/`) ? [name + path.slice(target.length)] : [],
  )
  return [path, ...through].map(normalise)
}

function normalise(path: string): string {
  const parts = path.normalize('NFKC').replace(ignored, '').toLowerCase().split(/[/\\]/)
  return parts.map((part) => part.replace(/(?<=.)[. ]+$/, '').replace(/:.*$/, '')).join('/')
}

function isHook(name: string, hooksPath: string | undefined): boolean {
  if (hooksPath === undefined) return false
  const folder = normalise(posix.normalize(hooksPath).replace(/\/$/, ''))
  return folder === '.'
    ? !name.includes('/')
    : name === folder || name.startsWith(`${folder}/`) || folder.startsWith(`${name}/`)
}

type Matcher = { files: RegExp; folders: RegExp }
const matchers = new Map<FlagRule, Matcher>(flagRules.map((rule) => [rule, compile(rule.paths)]))

function isNamed(rule: FlagRule, name: string, mode: string): boolean {
  const matcher = matchers.get(rule)
  // A link or a submodule can stand in the place of a folder.
  const isFolder = mode === link || mode === submodule
  return matcher !== undefined && (matcher.files.test(name) || (isFolder && matcher.folders.test(name)))
}

function compile(paths: readonly string[]): Matcher {
  const files = paths.map((path) => (path.endsWith('/') ? `${toPattern(path.slice(0, -1))}/.*` : toPattern(path)))
  const folders = paths.flatMap((path) => prefixesOf(path.replace(/\/$/, ''))).map(toPattern)
  return { files: anyOf(files), folders: anyOf(folders) }
}

function toPattern(path: string): string {
  return path.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]*')
}

function anyOf(patterns: readonly string[]): RegExp {
  return new RegExp(`(^|/)(${patterns.join('|')})$`, 's')
}

/** `a/b/c` is `a`, `a/b` and `a/b/c`. */
function prefixesOf(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}
