import { lstatSync } from 'node:fs'
import { join } from 'node:path'

/** What other programs on this machine obey when they find it in a repository. An agent may read it, never write it. */
export const protectedNames = [
  '.git',
  '.mxd',
  '.matrix',
  '.mcp.json',
  '.vscode',
  '.idea',
  '.cursor',
  '.claude',
  '.envrc',
  '.husky',
] as const

const leases = new Map<string, { boxes: number; paths: string[] }>()

export type Protection = { paths: readonly string[]; release(): void }

/**
 * The protected paths of a worktree that exist, held for as long as a box may write there.
 *
 * While one box is alive, a later one gets the same list: what was protected before cannot be replaced from inside,
 * but a name that appeared since could be swapped for a link while the box is being built (CVE-2026-87766).
 */
export function leaseProtection(worktree: string): Protection {
  const lease = leases.get(worktree) ?? { boxes: 0, paths: findProtectedPaths(worktree) }
  lease.boxes += 1
  leases.set(worktree, lease)
  let released = false

  return {
    paths: lease.paths,
    release() {
      if (released) return
      released = true
      lease.boxes -= 1
      if (lease.boxes === 0) leases.delete(worktree)
    },
  }
}

/** Only what exists and is no link: bubblewrap would create the rest, through the link, outside of the worktree. */
function findProtectedPaths(worktree: string): string[] {
  return protectedNames
    .map((name) => join(worktree, name))
    .filter((path) => {
      const found = lstatSync(path, { throwIfNoEntry: false })
      return found?.isDirectory() || found?.isFile()
    })
}
