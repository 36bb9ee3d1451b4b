import { realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { type ArgumentRole, type ArgumentRoles, findUnnamed, hasRole, type PathBase } from '@matrix/manifest'
import { parseShellText, type ShellText } from './shell/shell-text.ts'

/** What a call is aimed at, as far as its arguments tell: what lists of paths, commands and hosts are held against. */
export type CallTarget = {
  paths: string[]
  /** Those of the paths that are folders, so that what lies in them is in reach as well. */
  folders: string[]
  /** Paths that arguments without that role would be: no list allows them, and one that denies them denies the call. */
  others: string[]
  commands: ShellText[]
  hosts: string[]
  /** Which of the three the arguments are known to be. What is not known is guessed from every text, and no list allows it. */
  named: { paths: boolean; commands: boolean; hosts: boolean }
}

export const noTarget: CallTarget = {
  paths: [],
  folders: [],
  others: [],
  commands: [],
  hosts: [],
  named: { paths: false, commands: false, hosts: false },
}

/** What is known of the arguments of a tool. */
export type KnownArguments = {
  /** Undefined where neither a manifest nor a lock says it. */
  roles: ArgumentRoles | undefined
  schema: unknown
  /** Matrix's own tools: no other argument can be what it has no role for. */
  isOwn?: boolean
}

export type TargetOptions = {
  hasPathRule?: boolean
  hasCommandRule?: boolean
}

/**
 * Reads the target out of the arguments by their roles. A path counts as it is written and as the links on the way to it lead.
 * An argument that the definition takes without naming it may be anything, so with one of those nothing is known.
 */
export async function findCallTarget(
  input: Record<string, unknown>,
  base: PathBase,
  { roles, schema, isOwn = false }: KnownArguments,
  { hasPathRule = true, hasCommandRule = true }: TargetOptions = {},
): Promise<CallTarget> {
  const texts = readTexts(input, roles)
  const isLoose = findUnnamed(schema, input).some((place) => !hasAnyRole(roles, place))
  const isKnown = (role: ArgumentRole) => !isLoose && (roles?.[role]?.length ?? 0) > 0
  const commands = isKnown('commands') ? texts.commands : texts.all
  const hosts = [...(isKnown('hosts') ? texts.hosts.map(hostOf) : texts.all.flatMap(urlHost))]
  return {
    ...(hasPathRule
      ? await findPaths(isOwn ? { ...texts, all: texts.paths } : texts, base, isKnown('paths'))
      : { paths: [], folders: [], others: [] }),
    commands: hasCommandRule ? await Promise.all([...new Set(commands)].map(parseShellText)) : [],
    hosts: [...new Set(hosts)],
    named: {
      paths: isKnown('paths'),
      commands: isKnown('commands') && texts.commands.length > 0,
      hosts: isKnown('hosts') && texts.hosts.length > 0,
    },
  }
}

type Texts = Record<ArgumentRole | 'all', string[]>

/** Every text of the arguments, and those of each role. What lies below a place with a role has it too. */
function readTexts(input: unknown, roles: ArgumentRoles | undefined): Texts {
  const texts: Texts = { all: [], paths: [], commands: [], hosts: [] }
  const visit = (value: unknown, place: string, held: readonly ArgumentRole[]): void => {
    const has = roleNames.filter((role) => held.includes(role) || hasRole(roles, role, place))
    if (typeof value === 'string' || typeof value === 'number')
      for (const kind of ['all' as const, ...has]) texts[kind].push(String(value))
    else if (Array.isArray(value)) for (const part of value) visit(part, `${place}[]`, has)
    else if (typeof value === 'object' && value !== null)
      for (const [name, part] of Object.entries(value)) {
        // Maps have paths for names.
        if (/[./]/.test(name)) texts.all.push(name)
        visit(part, place === '' ? name : `${place}.${name}`, has)
      }
  }
  visit(input, '', [])
  return texts
}

const roleNames = ['paths', 'commands', 'hosts'] as const

function hasAnyRole(roles: ArgumentRoles | undefined, place: string): boolean {
  const above = place.split(/(?=\.|\[\])/).map((_, index, steps) => steps.slice(0, index + 1).join(''))
  return above.some((each) => roleNames.some((role) => hasRole(roles, role, each)))
}

async function findPaths(
  { all, paths }: Texts,
  base: PathBase,
  isKnown: boolean,
): Promise<Pick<CallTarget, 'paths' | 'folders' | 'others'>> {
  const short = all.filter((text) => text.length < 4096 && !text.includes('\n'))
  // What does not say where it goes starts where it is.
  const written = isKnown && paths.length > 0 ? paths : isKnown ? ['.'] : ['.', ...short]
  const [aimed, others] = await Promise.all([resolvePaths(written, base), isKnown ? resolvePaths(short, base) : []])
  const kinds = await Promise.all(aimed.map((path) => isFolder(resolve(base.cwd, path))))
  return {
    paths: aimed,
    folders: aimed.filter((path, index) => isAbsolute(path) && kinds[index]),
    others: others.filter((path) => !aimed.includes(path)),
  }
}

/** Each as it is written and as links lead. */
async function resolvePaths(written: readonly string[], base: PathBase): Promise<string[]> {
  const spelled = [...new Set(written)].map((path) => expandHome(path, base))
  const real = await Promise.all(spelled.map((path) => followLinks(resolve(base.cwd, path))))
  return [...new Set([...spelled, ...real])]
}

export function defaultPathBase(cwd: string): PathBase {
  return { cwd, home: homedir() }
}

function expandHome(path: string, { home }: PathBase): string {
  const plain = path.startsWith('file://') ? path.slice('file://'.length) : path
  return plain === '~' || plain.startsWith('~/') ? join(home, plain.slice(1)) : plain
}

/** Where a path really leads, though its end may not exist yet. */
async function followLinks(path: string): Promise<string> {
  const found = await realpath(path).catch(() => undefined)
  if (found) return found
  const parent = dirname(path)
  return parent === path ? path : join(await followLinks(parent), basename(path))
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

/** The host of what is a host or an address; a text that is neither is a host that no list has. */
function hostOf(text: string): string {
  return urlHost(text)[0] ?? text.replace(/[:/].*$/s, '')
}

function urlHost(text: string): string[] {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return []
  return [URL.canParse(text) ? new URL(text).hostname : text]
}
