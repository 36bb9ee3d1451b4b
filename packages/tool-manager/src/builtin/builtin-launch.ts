import { realpath } from 'node:fs/promises'
import type { SideEffect } from '@matrix/manifest'
import type { BoxLaunch } from '../sandbox/box.ts'
import { findRipgrep } from './ripgrep.ts'
import { getServerFile } from './server-file.ts'

export type BuiltinLaunchOptions = {
  /** The worktree. */
  root: string
  /** The union over the agent's enabled built-in tools. */
  sideEffects: readonly SideEffect[]
  /** One file that holds the whole server; the one that comes with the package if absent. */
  serverFile?: string | undefined
  version: string
  hosts?: readonly string[] | undefined
  readable?: readonly string[] | undefined
  env?: Record<string, string> | undefined
}

/**
 * How to start the built-in tools of one agent, boxed like any other server.
 * Ripgrep may be started even without `shell`; in such a box there is nothing else that could be.
 */
export async function builtinLaunch(options: BuiltinLaunchOptions): Promise<BoxLaunch> {
  const { sideEffects, version, hosts, readable = [], env } = options
  // Links on the way to them are not there inside the box.
  const [root, serverFile] = await Promise.all([
    realpath(options.root),
    realpath(options.serverFile ?? getServerFile()),
  ])
  const ripgrep = await findRipgrep()
  return {
    program: process.execPath,
    args: [serverFile, '--root', root, '--version', version, ...(ripgrep ? ['--ripgrep', ripgrep] : [])],
    env,
    policy: {
      sideEffects,
      worktree: root,
      hosts,
      readable: [serverFile, ...readable],
      programs: ripgrep ? [ripgrep] : [],
      isGuarded: true,
    },
  }
}
