import { realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import { type BoxLimits, type BoxNetwork, type BoxPolicy, networkOf, resolveLimits } from './box-policy.ts'
import { isWithin, type Mount, programMount, readable, systemMounts } from './mount.ts'
import type { FilterRules } from './seccomp-filter.ts'

/** Where a box finds what Matrix puts there for it. */
export const EGRESS_SOCKET = '/run/matrix/egress.sock'
export const EGRESS_BRIDGE = '/run/matrix/egress-bridge.cjs'
/** Set inside every box, and nowhere else. */
export const BOXED = 'MATRIX_BOXED'
const HOME = '/home/agent'

/** A policy turned into what the kernel will be asked for. Nothing in it has been started. */
export type BoxPlan = {
  mounts: Mount[]
  network: BoxNetwork
  filter: FilterRules
  limits: BoxLimits
  worktree: { path: string; isWritable: boolean } | undefined
  cwd: string
  searchPath: string
}

export function planBox(policy: BoxPolicy, { program, cwd }: { program: string; cwd?: string | undefined }): BoxPlan {
  const has = (effect: BoxPolicy['sideEffects'][number]) => policy.sideEffects.includes(effect)
  if (has('chain')) throw refused('The side effect "chain" never runs.', 'Leave the tools of that class disabled.')

  const network = networkOf(policy)
  const shell = has('shell')
  const worktree = planWorktree(policy)
  const programs = [program, '/usr/bin/prlimit', ...(policy.programs ?? [])].map((path) => resolvePath(path, 'program'))
  const own = (policy.readable ?? []).map((path) => resolvePath(path, 'readable path'))
  // What lies in the worktree is there already. A second mount would have to be placed where the agent can write.
  const isApart = ({ target }: Mount) => !worktree || !isWithin(target, worktree.path)

  return {
    mounts: byDepth(
      systemMounts({ shell, network: network === 'shared' }),
      [
        ...programs.flatMap((path) => programMount(path, { shell, home: homedir() })),
        ...own.map(checkOwn).map(readable),
      ].filter(isApart),
      worktree ? [{ kind: worktree.isWritable ? 'write' : 'read', source: worktree.path, target: worktree.path }] : [],
    ),
    network,
    // Where the network is the box's own, unix sockets and lists of interfaces reach no further than the box: abstract
    // sockets and interfaces belong to the network. A server that neither reaches out nor starts anything needs neither.
    filter: {
      spawn: shell || (policy.programs ?? []).length > 0,
      unixSockets: network === 'proxied' || (shell && network === 'none'),
      interfaces: network === 'proxied' || (shell && network === 'none'),
    },
    limits: resolveLimits(policy),
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
  egress: { socket: string; bridgeFd: number } | undefined
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

function listArguments(plan: BoxPlan, { env, protectedPaths, filterFd, egress, locate }: BoxArguments): string[] {
  const { limits } = plan
  const scratch = (target: string, size: number) => ['--size', String(size), '--tmpfs', target]
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(plan.network === 'shared' ? [] : ['--unshare-net']),
    ...['--disable-userns', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--hostname', 'matrix'],
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev', ...scratch('/dev/shm', 64 << 20)],
    ...['--perms', '1777', ...scratch('/tmp', limits.scratchBytes)],
    ...['--perms', '0700', ...scratch(HOME, limits.scratchBytes)],
    ...['--dir', '/run', '--dir', '/var', '--symlink', '/tmp', '/var/tmp'],
    ...plan.mounts.flatMap((mount) => formatMount(mount, locate)),
    ...protectedPaths.flatMap((path) => ['--ro-bind', locate(path), path]),
    ...(egress ? ['--ro-bind', locate(egress.socket), EGRESS_SOCKET] : []),
    ...(egress ? ['--ro-bind-data', String(egress.bridgeFd), EGRESS_BRIDGE] : []),
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
    `--data=${limits.memoryBytes}`,
    `--fsize=${limits.fileBytes}`,
    '--core=0',
    '--',
  ]
}

function planWorktree({ worktree, sideEffects }: BoxPolicy): BoxPlan['worktree'] {
  const isWanted = sideEffects.some((effect) => effect === 'read' || effect === 'write' || effect === 'shell')
  if (!worktree || !isWanted) return undefined
  const path = resolvePath(worktree, 'worktree')
  if (!statSync(path).isDirectory()) throw refused(`The worktree ${path} is not a folder.`)
  return { path: checkOwn(path), isWritable: sideEffects.includes('write') }
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
  return [mount.kind === 'write' ? '--bind' : '--ro-bind', locate(mount.source), mount.target]
}

/** Outer folders first, or they would cover the inner ones; each target once, the later kind winning. */
function byDepth(...groups: Mount[][]): Mount[] {
  const targets = new Map(groups.flat().map((mount) => [mount.target, mount]))
  return [...targets.values()].sort((a, b) => depth(a.target) - depth(b.target))
}

function depth(path: string): number {
  return path.split('/').length
}

function defaultEnvironment({ searchPath }: BoxPlan): Record<string, string> {
  return { PATH: searchPath, HOME, USER: 'agent', LANG: 'C.UTF-8', TMPDIR: '/tmp', [BOXED]: '1' }
}

function refused(message: string, hint?: string): MatrixError {
  return new MatrixError('SANDBOX_REFUSED', message, hint ? { hint } : {})
}
