import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** One thing that a box has in its file system. */
export type Mount =
  | { kind: 'read' | 'write'; source: string; target: string /** Left out if it is gone by then. */; isOptional?: true }
  | { kind: 'link'; to: string; target: string }

/** As many as the kernel itself follows. */
const MAX_LINKS = 40

/** Links that a merged /usr leaves at the top, and real folders on systems that did not merge. */
const topFolders = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** What the dynamic linker, clocks and certificates need, and no more: each one is a mount that takes time. */
const settings = ['/etc/ld.so.cache', '/etc/localtime', ...certificates()]
/** Programs that a shell starts look further: at what describes the machine, and at what languages and tools link from /usr. */
const shellSettings = [
  /^(?:alternatives|services|protocols|rpc|mime\.types|magic|timezone|shells|inputrc|os-release|.+-release|debian_version)$/,
  /^(?:crypto-policies|fonts|groff|terminfo|xml|sgml|texmf|chromium(?:\.d)?|locale\.alias|ld\.so\.conf(?:\.d)?)$/,
  /^(?:java|jvm|maven|gradle|ant|perl|python|php|ruby|lua|R|ghc|erlang|dotnet|ImageMagick|vim)(?:[-.\d].*)?$/,
]

/** Where libraries and what they read lie: enough to run a program that was named, with none to start from it. */
const libraries = ['/usr/lib', '/usr/lib32', '/usr/lib64', '/usr/libx32', '/usr/local/lib', '/usr/share']

/** The system as a box sees it: an allow-list, so that whatever is not named here cannot be read. */
export function systemMounts({ shell }: { shell: boolean }): Mount[] {
  const programs = shell ? ['/usr'] : libraries
  return [
    ...programs.filter(isFolder).map(readable),
    ...topFolders.flatMap((folder) => topMount(folder, shell)),
    ...[...settings, ...(shell ? findShellSettings() : [])].filter(existsSync).map(readable),
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

/** A path as it really is, with every link that leads to it, so that it goes by the same names inside. */
export function reachable(path: string): Mount[] {
  const links: Mount[] = []
  let place = '/'
  let rest = path.split('/').filter(Boolean)
  while (rest.length > 0) {
    const next = join(place, rest[0] ?? '')
    rest = rest.slice(1)
    if (lstatSync(next).isSymbolicLink()) {
      if (links.length === MAX_LINKS) throw new Error(`${path} leads through too many links.`)
      const to = readlinkSync(next)
      links.push({ kind: 'link', to, target: next })
      rest = [...resolve(place, to).split('/').filter(Boolean), ...rest]
      place = '/'
    } else place = next
  }
  return [...links, { kind: 'read', source: place, target: place, isOptional: true }]
}

/** What is read through an outer mount already needs none of its own, and could not be placed in one that is writable. */
export function dropNested(mounts: readonly Mount[]): Mount[] {
  const outer = mounts.flatMap((mount) =>
    mount.kind !== 'link' && mount.source === mount.target ? [mount.target] : [],
  )
  return mounts.filter(
    ({ kind, target }) => kind === 'write' || !outer.some((folder) => folder !== target && isWithin(target, folder)),
  )
}

export function writable(path: string): Mount {
  return { kind: 'write', source: path, target: path }
}

function findShellSettings(): string[] {
  const names = readdirSync('/etc').filter((name) => shellSettings.some((pattern) => pattern.test(name)))
  return [...names, 'ssl/openssl.cnf', 'X11/rgb.txt'].map((name) => `/etc/${name}`)
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

export function isSystemPath(path: string): boolean {
  return ['/usr', ...topFolders].some((folder) => isWithin(path, folder))
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
