import { readdirSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { isWithin } from '../sandbox/mount.ts'
import { findSecret, isSecretFile } from './secret-file.ts'

/** Folders of a home that hold programs beside things that are nobody else's business. */
const mixedFolders = [
  '.local',
  '.local/share',
  '.config',
  '.cache',
  '.cargo',
  '.docker',
  '.npm',
  '.m2',
  '.gradle',
  'go',
]

/** Folders of a home in which a program is the exception: only modules are read there as a whole, else a program alone. */
const privateFolders = ['.config', '.ssh', '.gnupg', '.aws', '.kube', '.docker', '.mozilla', '.local/share/keyrings']

/** Stores whose programs refer to each other by their whole paths. */
const stores = ['/nix/store', '/gnu/store']

const programFolders = new Set(['bin', 'sbin', '.bin', 'shims', 'libexec', 'scripts'])

/** What is never read as a whole. */
export type Around = { home: string /** What is Matrix's own. */; kept: readonly string[] }

/** What a program in this folder needs to run: the narrowest folders that hold its installation. Paths are real ones. */
export function installationOf(folder: string, around: Around): string[] {
  const whole = wholeOf(folder)
  // Packages are called by all names, also by those of secrets.
  if (whole && !isBroad(whole, around)) return [whole]
  if (privateFolders.some((name) => isWithin(folder, join(around.home, name)))) return []
  const prefix = programFolders.has(basename(folder)) ? dirname(folder) : folder
  if (isBroad(prefix, around) || isTop(prefix)) return isBroad(folder, around) ? [] : [folder]
  return withoutSecrets(prefix)
}

/** Modules and stores are used as one, wherever in them a program lies. */
function wholeOf(folder: string): string | undefined {
  const store = stores.find((each) => isWithin(folder, each))
  if (store) return store
  if (folder.endsWith('/vendor/bin')) return dirname(folder)
  const modules = `${folder}/`.indexOf('/node_modules/')
  return modules < 0 ? undefined : `${folder}/`.slice(0, modules + '/node_modules'.length)
}

/** Whether more than an installation lies there: the home, what holds it or what is Matrix's own, the top of the machine. */
function isBroad(folder: string, { home, kept }: Around): boolean {
  if ([home, ...kept].some((each) => isWithin(each, folder))) return true
  if (isWithin(folder, home)) return mixedFolders.includes(relative(home, folder))
  return (
    ['/opt', '/srv', '/var', '/mnt', '/media', '/tmp', '/etc', '/run'].includes(folder) || dirname(folder) === '/home'
  )
}

/** A folder at the top may hold programs, but what lies around them there is seldom their installation. */
function isTop(folder: string): boolean {
  return dirname(folder) === '/'
}

/** The folder, or where it keeps secrets the folders in it that do not. */
function withoutSecrets(folder: string): string[] {
  if (!findSecret(folder)) return [folder]
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !isSecretFile(entry.name))
    .map((entry) => join(folder, entry.name))
    .filter((each) => !findSecret(each, 1))
}
