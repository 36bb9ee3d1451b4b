import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, relative } from 'node:path'

/** One thing that a box has in its file system. */
export type Mount =
  | { kind: 'read' | 'write'; source: string; target: string }
  | { kind: 'link'; to: string; target: string }

/** Links that a merged /usr leaves at the top, and real folders on systems that did not merge. */
const topFolders = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** What the dynamic linker, names, clocks and certificates need, and no more: each one is a mount that takes time. */
const settings = ['/etc/ld.so.cache', '/etc/passwd', '/etc/nsswitch.conf', '/etc/localtime', ...certificates()]
/** Programs that a shell starts look further. */
const shellSettings = ['/etc/group', '/etc/alternatives']
const networkSettings = ['/etc/resolv.conf', '/etc/hosts', '/etc/services']

/** Where libraries and what they read lie: enough to run a program that was named, with none to start from it. */
const libraries = ['/usr/lib', '/usr/lib32', '/usr/lib64', '/usr/libx32', '/usr/local/lib', '/usr/share']

/** The system as a box sees it: an allow-list, so that whatever is not named here cannot be read. */
export function systemMounts({ shell, network }: { shell: boolean; network: boolean }): Mount[] {
  const programs = shell ? ['/usr'] : libraries
  return [
    ...programs.filter(isFolder).map(readable),
    ...topFolders.flatMap((folder) => topMount(folder, shell)),
    ...[...settings, ...(shell ? shellSettings : []), ...(network ? networkSettings : [])]
      .filter(existsSync)
      .map(readable),
  ]
}

/** The program itself, with the folder it was installed into where that is not part of the system. */
export function programMount(program: string, { shell, home }: { shell: boolean; home: string }): Mount[] {
  if (isSystemPath(program)) return shell ? [] : [readable(program)]
  const prefix = dirname(dirname(program))
  const isInstallation = dirname(program).endsWith('/bin') && isApart(prefix, home)
  return [readable(isInstallation ? prefix : program)]
}

/** Far enough from a home: ~/.nvm/versions/node/v20 holds a program, ~/.cargo and ~/.local hold somebody's secrets. */
function isApart(prefix: string, home: string): boolean {
  if (prefix === '/' || isWithin(home, prefix)) return false
  return !isWithin(prefix, home) || relative(home, prefix).split('/').length >= 3
}

/** Whether a path is the folder itself or below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

export function readable(path: string): Mount {
  return { kind: 'read', source: realpathSync(path), target: path }
}

function topMount(folder: string, shell: boolean): Mount[] {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (found?.isSymbolicLink()) return [{ kind: 'link', to: readlinkSync(folder), target: folder }]
  const isPrograms = folder === '/bin' || folder === '/sbin'
  return found?.isDirectory() && (shell || !isPrograms) ? [readable(folder)] : []
}

/** Each family of distributions has its own place for them; the first that exists is the one in use. */
function certificates(): string[] {
  return ['/etc/ssl/certs', '/etc/pki/ca-trust/extracted', '/etc/pki/tls/certs'].filter(existsSync)
}

function isSystemPath(path: string): boolean {
  return ['/usr', ...topFolders].some((folder) => isWithin(path, folder))
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
