import { lstatSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import { type BoxLimits, type BoxNetwork, type BoxPolicy, networkOf } from './box-policy.ts'
import { BOXED } from './boxed.ts'
import { GUARD } from './guard.ts'
import { readLimits } from './machine-limits.ts'
import { dropNested, isWithin, type Mount, programMount, reachable, readable, systemMounts, writable } from './mount.ts'
import type { FilterRules } from './seccomp-filter.ts'
import { HOME, HOSTNAME, type SystemFile, USER } from './system-files.ts'

/** Where a box finds what Matrix puts there for it. */
export const EGRESS_SOCKET = '/run/matrix/egress.sock'
export const EGRESS_BRIDGE = '/run/matrix/egress-bridge.cjs'

/** Node loads the bridge into itself; any other program is started by it, which therefore has to be there. */
export function isNode(program: string): boolean {
  return basename(program) === 'node'
}

/** A policy turned into what the kernel will be asked for. Nothing in it has been started. */
export type BoxPlan = {
  mounts: Mount[]
  overlays: Mount[]
  files: readonly SystemFile[]
  network: BoxNetwork
  filter: FilterRules
  limits: BoxLimits
  isGuarded: boolean
  /** Root stays root, to work on files of root and of others alike. */
  isRoot: boolean
  worktree: { path: string; isWritable: boolean; only: readonly string[] | undefined } | undefined
  /** Covered last, so that nothing shows through. */
  hidden: readonly HiddenPath[]
  cwd: string
  searchPath: string
}

type HiddenPath = { path: string; isFolder: boolean }

export function planBox(policy: BoxPolicy, { program, cwd }: { program: string; cwd?: string | undefined }): BoxPlan {
  const has = (effect: BoxPolicy['sideEffects'][number]) => policy.sideEffects.includes(effect)
  if (has('chain')) throw refused('The side effect "chain" never runs.', 'Leave the tools of that class disabled.')

  const network = networkOf(policy)
  const shell = has('shell')
  const worktree = planWorktree(policy)
  const isBridged = network === 'proxied' && !isNode(program)
  const startable = [...(policy.programs ?? []), ...(isBridged ? [process.execPath] : [])]
  const programs = [program, '/usr/bin/prlimit', ...startable].map((path) => resolvePath(path, 'program'))
  const own = (policy.readable ?? []).map((path) => resolvePath(path, 'readable path'))
  // What lies in the worktree is there already. A second mount would have to be placed where the agent can write.
  const isApart = ({ target }: Mount) => !worktree || !isWithin(target, worktree.path)
  const within = [worktree?.path, ...(policy.writable ?? [])].find((path) => path !== undefined && isWithin(path, HOME))
  if (within) throw refused(`${within} lies where a sandbox has its home.`, `Keep nothing of Matrix in ${HOME}.`)

  const mounts = byDepth(
    systemMounts({ shell }),
    [
      ...programs.flatMap((path) => programMount(path, { shell, home: homedir() })),
      ...own.map(checkOwn).map(readable),
      ...(policy.toolchains ?? []).flatMap(toolchain),
    ].filter(isApart),
    worktree ? worktreeMounts(worktree) : [],
    (policy.writable ?? [])
      .map((path) => resolvePath(path, 'writable folder'))
      .map(checkOwn)
      .map(writable),
    policy.home ? [{ kind: 'write', source: checkOwn(resolvePath(policy.home, 'home')), target: HOME }] : [],
    policy.scratch ? [{ kind: 'write', source: checkOwn(policy.scratch), target: '/tmp' }] : [],
  )
  return {
    mounts,
    hidden: findHidden(policy.hidden ?? [], mounts),
    overlays: (policy.overlays ?? []).map(({ source, target }) => ({ ...readable(source), target })),
    files: (policy.files ?? []).map(checkFile),
    network,
    // Unix sockets and lists of interfaces reach no further than the box, whose network is its own: abstract sockets and
    // interfaces belong to the network. A server that neither reaches out nor starts anything needs neither.
    filter: {
      spawn: shell || startable.length > 0,
      unixSockets: network === 'proxied',
      interfaces: network === 'proxied',
    },
    limits: readLimits(policy),
    isGuarded: shell && policy.isGuarded === true,
    isRoot: policy.hasOwnRights === true && process.getuid?.() === 0,
    worktree,
    cwd: cwd ?? worktree?.path ?? HOME,
    searchPath: [...new Set([...programs.map((path) => dirname(path)), '/usr/local/bin', '/usr/bin', '/bin'])].join(
      ':',
    ),
  }
}

export type BoxArguments = {
  env: Record<string, string>
  protectedPaths: readonly string[]
  filterFd: number
  /** The socket of the agent's proxy. */
  egressSocket: string | undefined
  /** What is written into the box, each from the descriptor it is read from. */
  files: readonly { target: string; fd: number }[]
  /** Where a source is found by the one who starts the box. */
  locate(source: string): string
}

/** Everything for `bwrap --args`, where nothing of it stands in a process list. */
export function formatArguments(plan: BoxPlan, given: BoxArguments): string {
  const all = listArguments(plan, given)
  // They are told apart by NUL: one inside would add arguments of somebody else's choice.
  const forged = all.find((argument) => argument.includes('\0'))
  if (forged !== undefined) throw refused('A path or a value of the environment holds a NUL character.')
  return all.map((argument) => `${argument}\0`).join('')
}

const rootRights = ['--cap-drop', 'ALL', '--cap-add', 'CAP_DAC_OVERRIDE', '--cap-add', 'CAP_FOWNER']

function listArguments(
  plan: BoxPlan,
  { env, protectedPaths, filterFd, egressSocket, files, locate }: BoxArguments,
): string[] {
  const { limits } = plan
  const has = (folder: string) => plan.mounts.some(({ target }) => target === folder)
  const scratch = (target: string, size: number) => ['--size', String(size), '--tmpfs', target]
  return [
    // In a namespace of users, root would be refused the files of everybody else.
    ...(plan.isRoot ? rootRights : ['--unshare-user', '--disable-userns', '--cap-drop', 'ALL']),
    ...['--unshare-pid', '--unshare-ipc', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--die-with-parent', '--new-session', '--hostname', HOSTNAME],
    ...(plan.isGuarded ? ['--cap-add', GUARD] : []),
    ...[
      '--proc',
      '/proc',
      '--ro-bind',
      '/proc/sys',
      '/proc/sys',
      '--dev',
      '/dev',
      ...scratch('/dev/shm', limits.sharedBytes),
    ],
    ...(has('/tmp') ? [] : ['--perms', '1777', ...scratch('/tmp', limits.scratchBytes)]),
    ...(has(HOME) ? [] : ['--perms', '0700', ...scratch(HOME, limits.scratchBytes)]),
    ...['--dir', '/run', '--dir', '/var', '--symlink', '/tmp', '/var/tmp'],
    ...(plan.worktree?.only ? ['--dir', plan.worktree.path] : []),
    ...plan.mounts.flatMap((mount) => formatMount(mount, locate)),
    ...coverProtected(plan.overlays, protectedPaths)
      .filter(({ target }) => isVisible(target, plan.worktree))
      .flatMap((mount) => formatMount(mount, locate)),
    ...plan.hidden.flatMap(formatHidden),
    ...files.flatMap(({ target, fd }) => ['--perms', '0444', '--file', String(fd), target]),
    ...(egressSocket ? ['--ro-bind', locate(egressSocket), EGRESS_SOCKET] : []),
    // Only after the last mount point is there: they are folders of these two.
    ...['--remount-ro', '/dev', '--remount-ro', '/'],
    ...['--chdir', plan.cwd, '--clearenv'],
    ...Object.entries({ ...defaultEnvironment(plan), ...env }).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--seccomp', String(filterFd)],
  ]
}

/**
 * Sets limits inside the box: outside, the kernel would count every process its user has against them.
 * The memory limit is on allocations, because the address space is reserved by the gigabyte for WebAssembly.
 */
export function formatLimits(limits: BoxLimits): string[] {
  return [
    '/usr/bin/prlimit',
    `--nproc=${limits.processes}`,
    `--nofile=${limits.openFiles}`,
    ...(Number.isFinite(limits.memoryBytes) ? [`--data=${limits.memoryBytes}`] : []),
    `--fsize=${limits.fileBytes}`,
    '--core=0',
    '--',
  ]
}

/**
 * The protected paths, each under itself or under what is put over it. Nothing else may be covered: where the agent can write, the
 * target could be swapped for a link while the box is built.
 */
function coverProtected(overlays: readonly Mount[], protectedPaths: readonly string[]): Mount[] {
  const covers = new Map(overlays.map((mount) => [mount.target, mount]))
  const open = overlays.find(({ target }) => !protectedPaths.includes(target))
  if (open) throw refused(`${open.target} cannot be covered: it is not a protected path of the worktree.`)
  return protectedPaths.map((path) => covers.get(path) ?? readable(path))
}

function planWorktree({ worktree, sideEffects, only }: BoxPolicy): BoxPlan['worktree'] {
  const isWanted = sideEffects.some((effect) => effect === 'read' || effect === 'write' || effect === 'shell')
  if (!worktree || !isWanted) return undefined
  const path = resolvePath(worktree, 'worktree')
  if (!statSync(path).isDirectory()) throw refused(`The worktree ${path} is not a folder.`)
  return { path: checkOwn(path), isWritable: sideEffects.includes('write'), only }
}

type Worktree = NonNullable<BoxPlan['worktree']>

function worktreeMounts({ path, isWritable, only = [path] }: Worktree): Mount[] {
  return only.map((each) => ({ kind: isWritable ? 'write' : 'read', source: each, target: each }))
}

function isVisible(target: string, worktree: Worktree | undefined): boolean {
  return !worktree?.only || worktree.only.some((path) => isWithin(target, path))
}

/** Only what a mount would show; for the rest, covering it would be the first sign that it exists. */
function findHidden(paths: readonly string[], mounts: readonly Mount[]): HiddenPath[] {
  return paths.flatMap((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false })
    const isShown = mounts.some(({ kind, target }) => kind !== 'link' && isWithin(path, target))
    return found && isShown ? [{ path, isFolder: found.isDirectory() }] : []
  })
}

/** An empty folder that is closed, or a device where devices do not work. */
function formatHidden({ path, isFolder }: HiddenPath): string[] {
  return isFolder ? ['--perms', '0000', '--tmpfs', path, '--remount-ro', path] : ['--ro-bind', '/dev/null', path]
}

/** A folder that holds the system, or everything somebody owns, is not handed to a tool; nor is a part of the kernel. */
function checkOwn(path: string): string {
  const kept = ['/usr', '/etc', '/proc', '/sys', '/dev', '/run', '/boot', '/home', '/root', '/var/lib', homedir()]
  const hidden = kept.find((folder) => isWithin(folder, path))
  const isKernel = ['/proc', '/sys', '/dev'].some((folder) => isWithin(path, folder))
  if (hidden || isKernel)
    throw refused(
      `${path} is too much for a box: it holds ${hidden ?? 'parts of the kernel'}.`,
      'Name a folder further down.',
    )
  return path
}

/** Only where nothing else is: below a folder that the agent can write, a link could stand in its place. */
function checkFile(file: SystemFile): SystemFile {
  if (['/run/matrix', '/.cargo'].some((folder) => isWithin(file.target, folder))) return file
  throw refused(`${file.target} is not a place for files of Matrix.`)
}

/** A toolchain may be moved or removed at any time, which is no reason to start nothing. */
function toolchain(path: string): Mount[] {
  try {
    const mounts = reachable(path)
    for (const { target } of mounts) checkOwn(target)
    return mounts.some(({ target }) => isWithin(target, HOME)) ? [] : mounts
  } catch {
    return []
  }
}

function resolvePath(path: string, what: string): string {
  if (!path.startsWith('/')) throw refused(`The ${what} "${path}" is not absolute.`, 'Give the whole path.')
  try {
    return realpathSync(path)
  } catch (cause) {
    throw new MatrixError('SANDBOX_REFUSED', `The ${what} ${path} is not there.`, { cause })
  }
}

function formatMount(mount: Mount, locate: (source: string) => string): string[] {
  if (mount.kind === 'link') return ['--symlink', mount.to, mount.target]
  const bind = mount.kind === 'write' ? '--bind' : '--ro-bind'
  return [mount.isOptional ? `${bind}-try` : bind, locate(mount.source), mount.target]
}

/** Outer folders first, or they would cover the inner ones; each target once, the later kind winning. */
function byDepth(...groups: Mount[][]): Mount[] {
  const targets = new Map(groups.flat().map((mount) => [mount.target, mount]))
  return dropNested([...targets.values()]).sort((a, b) => depth(a.target) - depth(b.target))
}

function depth(path: string): number {
  return path.split('/').length
}

function defaultEnvironment({ searchPath }: BoxPlan): Record<string, string> {
  const who = { USER, LOGNAME: USER, SHELL: '/bin/bash' }
  return { PATH: searchPath, HOME, ...who, LANG: 'C.UTF-8', TMPDIR: '/tmp', [BOXED]: '1' }
}

function refused(message: string, hint?: string): MatrixError {
  return new MatrixError('SANDBOX_REFUSED', message, hint ? { hint } : {})
}
