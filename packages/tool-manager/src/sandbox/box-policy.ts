import type { SideEffect } from '@matrix/manifest'

/** What a box is compiled from: what its program may do, and to which part of the machine. */
export type BoxPolicy = {
  /** The union over the enabled tools of the server. What is missing here is missing in the box. */
  sideEffects: readonly SideEffect[]
  /** The folder to work in. It is at the same path inside, writable only with `write`. */
  worktree?: string | undefined
  /** With `network`: the only `host:port` that can be reached. Without a list the box shares the host's network. */
  hosts?: readonly string[] | undefined
  /** More folders or files that can be read, such as the server's package. */
  readable?: readonly string[] | undefined
  /** Programs that may be started even without `shell`; nothing else is there to be started. */
  programs?: readonly string[] | undefined
  limits?: Partial<BoxLimits> | undefined
}

export type BoxLimits = {
  /** Processes and threads together. */
  processes: number
  openFiles: number
  /** Of one process: what it has allocated, not what it has only reserved. */
  memoryBytes: number
  /** Of one file. */
  fileBytes: number
  /** Of the private /tmp and of the private home, each. */
  scratchBytes: number
}

const MiB = 1 << 20
const GiB = 1 << 30

const serverLimits: BoxLimits = {
  processes: 128,
  openFiles: 1024,
  memoryBytes: 2 * GiB,
  fileBytes: GiB,
  scratchBytes: 256 * MiB,
}

/** A shell builds and tests whole projects. */
const shellLimits: BoxLimits = {
  processes: 512,
  openFiles: 4096,
  memoryBytes: 4 * GiB,
  fileBytes: 2 * GiB,
  scratchBytes: GiB,
}

export function resolveLimits({ sideEffects, limits }: BoxPolicy): BoxLimits {
  return { ...(sideEffects.includes('shell') ? shellLimits : serverLimits), ...limits }
}

/** `proxied` is a network of its own with one door; `shared` is the host's. */
export type BoxNetwork = 'none' | 'proxied' | 'shared'

export function networkOf({ sideEffects, hosts }: BoxPolicy): BoxNetwork {
  if (!sideEffects.includes('network')) return 'none'
  return hosts ? 'proxied' : 'shared'
}
