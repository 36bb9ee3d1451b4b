import { realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import type { PathBase } from '@matrix/manifest'
import { parseShellText, type ShellText } from './shell/shell-text.ts'

/** What a call is aimed at, as far as its arguments tell: what lists of paths, commands and hosts are held against. */
export type CallTarget = {
  paths: string[]
  /** Those of the paths that are folders, so that what lies in them is in reach as well. */
  folders: string[]
  commands: ShellText[]
  hosts: string[]
  /** Which of the three an argument says by its name. What none says is guessed from every text, and never allowed by a list. */
  named: { paths: boolean; commands: boolean; hosts: boolean }
}

export const noTarget: CallTarget = {
  paths: [],
  folders: [],
  commands: [],
  hosts: [],
  named: { paths: false, commands: false, hosts: false },
}

const pathKey =
  /(?:^|_|-)(?:path|paths|file|files|filename|filepath|dir|directory|folder|source|destination|cwd|root)$/i
const commandKey = /^(?:command|commands|cmd|script)$/i
const hostKey = /(?:^|_|-)(?:url|urls|uri|endpoint|host|hostname|domain)$/i

/** Reads the target out of the arguments. A path counts as it is written and as the links on the way to it lead. */
export async function findCallTarget(
  input: Record<string, unknown>,
  base: PathBase,
  { hasCommandRule = true } = {},
): Promise<CallTarget> {
  const named = { paths: new Set<string>(), commands: new Set<string>(), hosts: new Set<string>() }
  const texts: string[] = []
  walk(input, '', (key, text) => {
    texts.push(text)
    const snake = key.replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    if (pathKey.test(snake)) named.paths.add(text)
    if (commandKey.test(snake)) named.commands.add(text)
    const host = hostOf(text, hostKey.test(snake))
    if (host) named.hosts.add(host)
  })
  // A tool that calls its path by a name of its own is not thereby free to go anywhere.
  const written =
    named.paths.size > 0 ? [...named.paths] : texts.filter((text) => text.length < 4096 && !text.includes('\n'))
  const paths = written.length > 0 ? written : ['.']
  const real = await Promise.all(paths.map((path) => followLinks(resolve(base.cwd, expandHome(path, base)))))
  // What does not say where it goes starts where it is.
  const reached = named.paths.size > 0 ? real : [...real, base.cwd]
  const kinds = await Promise.all(reached.map(isFolder))
  const commands = named.commands.size > 0 ? [...named.commands] : texts
  return {
    folders: [...new Set(reached.filter((_, index) => kinds[index]))],
    paths: [...new Set([...paths.map((path) => expandHome(path, base)), ...real])],
    commands: hasCommandRule ? await Promise.all(commands.map(parseShellText)) : [],
    hosts: [...named.hosts],
    named: { paths: named.paths.size > 0, commands: named.commands.size > 0, hosts: named.hosts.size > 0 },
  }
}

export function defaultPathBase(cwd: string): PathBase {
  return { cwd, home: homedir() }
}

function walk(value: unknown, key: string, visit: (key: string, text: string) => void): void {
  if (typeof value === 'string') visit(key, value)
  else if (Array.isArray(value)) for (const part of value) walk(part, key, visit)
  else if (typeof value === 'object' && value !== null)
    for (const [name, part] of Object.entries(value)) walk(part, name, visit)
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

function hostOf(text: string, isHost: boolean): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return URL.canParse(text) ? new URL(text).hostname : text
  return isHost ? text.replace(/[:/].*$/s, '') : undefined
}
