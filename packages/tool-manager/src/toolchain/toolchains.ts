import { accessSync, constants, existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { allowsReading, type Identity } from '../sandbox/identity.ts'
import { isSystemPath, isWithin } from '../sandbox/mount.ts'
import { installationOf } from './installation.ts'
import { findInterpreter } from './interpreter.ts'
import { managers } from './managers.ts'
import { findNodeProxy } from './node-proxy.ts'

export type Toolchains = {
  /** Where programs are looked for, in the user's order. */
  searchPath: string[]
  /** What is read for them, at the same path as outside. */
  folders: string[]
  /** Variables that say where toolchains lie, and what they need in a sandbox. */
  env: Record<string, string>
  /** What is on the user's PATH and not in a sandbox. */
  skipped: Skipped[]
}

export type Skipped = { path: string; reason: string }

export type ToolchainOptions = {
  env: Readonly<Record<string, string | undefined>>
  home: string
  /** Whom sandboxes run as, if not as this user. */
  identity?: Identity | undefined
  /** Folders that hold what is Matrix's own. */
  kept?: readonly string[] | undefined
}

/** Finds what the user's PATH reaches by following it: folders, links, interpreters, and the installations that they lie in. */
export function findToolchains(options: ToolchainOptions): Toolchains {
  const { env, home, kept = [] } = options
  const found = { folders: new Set<string>(), searchPath: [] as string[], skipped: [] as Skipped[] }
  const skip = (path: string, reason: string) => void found.skipped.push({ path, reason })
  const entries = [...new Set((env.PATH ?? '').split(delimiter).filter((entry) => entry !== ''))]

  for (const entry of entries) {
    const reason = whyNotIfOpen(entry, options)
    if (reason) {
      skip(entry, reason)
      continue
    }
    found.searchPath.push(entry)
    if (!isAbsolute(entry)) continue
    for (const path of [entry, ...leadsOf(entry)]) addInstallation(path)
  }

  const variables = findVariables(entries)
  for (const path of Object.values(variables)) addInstallation(path)

  return {
    searchPath: found.searchPath,
    folders: outermost([...found.folders]),
    env: { ...variables, ...findNodeProxy(found.searchPath) },
    skipped: found.skipped,
  }

  /** Reads the installation that a folder or program belongs to, under each name that leads to it. */
  function addInstallation(path: string): void {
    try {
      const real = realpathSync.native(path)
      if (isSystemPath(real)) {
        if (!isSystemPath(path)) found.folders.add(path)
        return
      }
      const isFolder = statSync(real).isDirectory()
      const parts = installationOf(isFolder ? real : dirname(real), { home, kept })
      if (isFolder && parts.length === 0) skip(path, 'holds more than programs, so it is not shared')
      const open = (parts.length > 0 || isFolder ? parts : [real]).filter((part) => isAllowed(part))
      for (const part of open) found.folders.add(part)
      if (path !== real && open.some((part) => isWithin(real, part))) found.folders.add(path)
    } catch (error) {
      skip(path, `cannot be read (${(error as NodeJS.ErrnoException).code})`)
    }
  }

  function isAllowed(folder: string): boolean {
    if (kept.some((each) => isWithin(folder, each))) return false
    const isReadable = isOpen(folder, options.identity)
    if (!isReadable) skip(folder, closedReason(options.identity))
    return isReadable
  }

  function findVariables(path: readonly string[]): Record<string, string> {
    const given = managers.flatMap(({ variable, folder, program }) => {
      const named = env[variable]
      if (named && isAbsolute(named)) return [[variable, named] as const]
      const place = folder && join(home, folder)
      if (!place || !existsSync(place)) return []
      const isUsed = path.some((entry) => isWithin(entry, place) || (program && existsSync(join(entry, program))))
      return isUsed ? [[variable, place] as const] : []
    })
    for (const [variable, place] of given) if (!existsSync(place)) skip(place, `does not exist; ${variable} names it`)
    return Object.fromEntries(given.filter(([, place]) => existsSync(place)))
  }
}

function whyNotIfOpen(entry: string, options: ToolchainOptions): string | undefined {
  try {
    return whyNot(entry, options)
  } catch (error) {
    return `cannot be read (${(error as NodeJS.ErrnoException).code})`
  }
}

function whyNot(entry: string, { identity, home, kept = [] }: ToolchainOptions): string | undefined {
  if (!isAbsolute(entry)) return entry.startsWith('~') ? 'begins with ~, which only a shell understands' : undefined
  if (isWithin(entry, '/snap') || isWithin(entry, '/var/lib/snapd'))
    return 'programs from snap need the snap daemon, which a sandbox cannot reach'
  if (/^\/mnt\/[a-z]\//.test(entry) && existsSync('/run/WSL')) return 'programs of Windows cannot run in a sandbox'
  const found = statSync(entry, { throwIfNoEntry: false })
  if (!found) return lstatSync(entry, { throwIfNoEntry: false }) ? 'is a link that leads nowhere' : 'does not exist'
  if (!found.isDirectory()) return 'is not a folder'
  if (isWithin(home, realpathSync.native(entry))) return 'holds the home folder, which is never shared'
  if (kept.some((each) => isWithin(realpathSync.native(entry), each))) return "is Matrix's own"
  return isOpen(entry, identity) ? undefined : closedReason(identity)
}

/** Where the programs of a folder really are, as far as that is elsewhere, and what runs those that are scripts. */
function leadsOf(folder: string): string[] {
  const isSystem = isSystemPath(realpathSync.native(folder))
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = join(folder, entry.name)
    if (entry.isSymbolicLink()) {
      const target = realpathOrNothing(file)
      return target && !isSystemPath(target) && !isWithin(target, realpathSync.native(folder)) ? [target] : []
    }
    // What the distribution installs runs on what the distribution installs.
    if (isSystem || !entry.isFile()) return []
    const interpreter = findInterpreter(file)
    return interpreter && !isSystemPath(interpreter) && existsSync(interpreter) ? [interpreter] : []
  })
}

function realpathOrNothing(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

function isOpen(path: string, identity: Identity | undefined): boolean {
  if (identity) return allowsReading(path, identity)
  try {
    accessSync(path, constants.R_OK | (statSync(path).isDirectory() ? constants.X_OK : 0))
    return true
  } catch {
    return false
  }
}

function closedReason(identity: Identity | undefined): string {
  return identity ? `user ${identity.uid}, whom sandboxes run as, may not read it` : 'you may not read it'
}

/** What lies in another of them is there already. */
function outermost(folders: readonly string[]): string[] {
  return folders.filter((path) => !folders.some((other) => other !== path && isWithin(path, other))).sort()
}
