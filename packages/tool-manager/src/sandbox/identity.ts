import { lchownSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MatrixError } from '@matrix/protocol'

/** Whom a box runs as. */
export type Identity = { uid: number; gid: number }

/** Nobody, by the number that Linux itself gives to owners it cannot name. */
const nobody: Identity = { uid: 65534, gid: 65534 }

/** Undefined where the daemon is an ordinary user, whose boxes run as the same one. */
export function resolveIdentity(configured?: Identity): Identity | undefined {
  if (process.getuid?.() !== 0) return undefined
  const identity = configured ?? nobody
  // Root owns /proc/sys and most of the disk: a box of root is one mistake away from the machine.
  if (identity.uid === 0 || identity.gid === 0)
    throw new MatrixError('SANDBOX_REFUSED', 'A box never runs as root.', {
      hint: 'Set sandbox.uid and sandbox.gid to a user without privileges, or leave them out.',
    })
  return identity
}

/**
 * Gives a worktree to the one its boxes run as, if it is not theirs yet. Links are given, never followed.
 * Call it while no box is alive in the tree; after that the top folder already belongs to them and nothing is walked.
 */
export function giveTree(folder: string, identity: Identity): void {
  if (lstatSync(folder).uid === identity.uid) return
  giveBelow(folder, identity)
  // Last, because it is what says that the rest is done.
  lchownSync(folder, identity.uid, identity.gid)
}

/** Whether someone without privileges can reach a path and read it. */
export function isReachable(path: string, identity: Identity): boolean {
  if (!allows(path, identity, 4)) return false
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (!allows(folder, identity, 1)) return false
    if (folder === '/') return true
  }
}

/** Fails early where a box would only say "permission denied" at some later time. */
export function checkAccess(worktree: string, isWritable: boolean, identity: Identity): void {
  const isOpen = allows(worktree, identity, 4) && allows(worktree, identity, 1)
  if (isOpen && (!isWritable || allows(worktree, identity, 2))) return
  throw new MatrixError('SANDBOX_REFUSED', `${worktree} is closed to user ${identity.uid}, whom its box runs as.`, {
    hint: `Give it to them: chown -R ${identity.uid}:${identity.gid} ${worktree}`,
  })
}

/** An empty folder of root, over which each launch mounts its own private view of what only root can reach. */
export function prepareStage(): string {
  const stage = '/run/matrix-stage'
  mkdirSync(stage, { recursive: true, mode: 0o755 })
  const found = lstatSync(stage)
  if (!found.isDirectory() || found.uid !== 0)
    throw new MatrixError('SANDBOX_REFUSED', `${stage} is not a folder of root.`, { hint: `Remove ${stage}.` })
  return stage
}

function giveBelow(folder: string, identity: Identity): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) giveBelow(path, identity)
    lchownSync(path, identity.uid, identity.gid)
  }
}

function allows(path: string, { uid, gid }: Identity, bit: number): boolean {
  const found = statSync(path)
  const shift = found.uid === uid ? 6 : found.gid === gid ? 3 : 0
  return ((found.mode >> shift) & bit) !== 0
}
