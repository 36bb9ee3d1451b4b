import type { SideEffect } from '@matrix/manifest'
import type { HostList } from './egress-proxy.ts'
import type { SystemFile } from './system-files.ts'

/** What a box is compiled from: what its program may do, and to which part of the machine. */
export type BoxPolicy = {
  /** The union over the enabled tools of the server. What is missing here is missing in the box. */
  sideEffects: readonly SideEffect[]
  /** The folder to work in. It is at the same path inside, writable only with `write`. */
  worktree?: string | undefined
  /** Paths that are there and cannot be read, listed or written. */
  hidden?: readonly string[] | undefined
  /** The only parts of the worktree that are there; all of it when absent. */
  only?: readonly string[] | undefined
  /** With `network`: the only hosts that can be reached, `*` for every public one. None at all when left out. */
  hosts?: HostList | undefined
  /** No door to the network at all, whatever the side effects: for short programs that Matrix itself runs. */
  isOffline?: boolean | undefined
  /** More folders or files that can be read, such as the server's package. */
  readable?: readonly string[] | undefined
  /** Where programs that the user has are installed, read at the same path. What is gone or closed by now is left out. */
  toolchains?: readonly string[] | undefined
  /** More folders that can be written, at the same path. They are made for this box, so no side effect is asked for. */
  writable?: readonly string[] | undefined
  /** The folder that is the home inside. Without it the home is empty and ends with the box. */
  home?: string | undefined
  /** A folder in which each box gets a /tmp of its own, removed with the box. Without it, /tmp is in memory. */
  scratch?: string | undefined
  /** What is written for the box, outside of all that it can write. */
  files?: readonly SystemFile[] | undefined
  /** What is put, read-only, over a protected path of the worktree. */
  overlays?: readonly Overlay[] | undefined
  /** Programs that may be started even without `shell`; nothing else is there to be started. */
  programs?: readonly string[] | undefined
  /** With `shell`: what its program starts cannot read or change it. Only for one that starts everything by `unguarded`. */
  isGuarded?: boolean | undefined
  /** Runs with the rights that Matrix has, on what is mounted: only for programs of the system that run nothing of anybody else's. */
  hasOwnRights?: boolean | undefined
  limits?: Partial<BoxLimits> | undefined
}

export type Overlay = { source: string; target: string }

export type BoxLimits = {
  /** Processes and threads together. */
  processes: number
  openFiles: number
  /** Of one process: what it has allocated, not what it has only reserved. Infinity is no limit. */
  memoryBytes: number
  /** Of one file. */
  fileBytes: number
  /** Of the private /tmp and of the private home, each, where they are in memory. */
  scratchBytes: number
  /** Of /dev/shm. */
  sharedBytes: number
}

const MiB = 1 << 20
const GiB = 1 << 30

const serverLimits: BoxLimits = {
  processes: 128,
  openFiles: 1024,
  memoryBytes: 2 * GiB,
  fileBytes: GiB,
  scratchBytes: 256 * MiB,
  sharedBytes: 64 * MiB,
}

/** A shell builds and tests whole projects: browsers share memory, test runners open files, debug builds write large ones. */
const shellLimits: BoxLimits = {
  processes: 4096,
  openFiles: 65_536,
  memoryBytes: 4 * GiB,
  fileBytes: 32 * GiB,
  scratchBytes: GiB,
  sharedBytes: 2 * GiB,
}

export function resolveLimits({ sideEffects, limits }: BoxPolicy): BoxLimits {
  return { ...(sideEffects.includes('shell') ? shellLimits : serverLimits), ...limits }
}

/** Every box has a network of its own; `proxied` has one door in it, which a shell needs also for what is asked of it from outside. */
export type BoxNetwork = 'none' | 'proxied'

export function networkOf({ sideEffects, isOffline }: BoxPolicy): BoxNetwork {
  if (isOffline) return 'none'
  return sideEffects.includes('network') || sideEffects.includes('shell') ? 'proxied' : 'none'
}

/** Without `network` the door leads nowhere, whatever is listed. */
export function hostsOf({ sideEffects, hosts = [] }: BoxPolicy): HostList {
  return sideEffects.includes('network') ? hosts : []
}
