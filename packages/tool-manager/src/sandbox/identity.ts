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
  if (!allows(path, identity, READ)) return false
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (!allows(folder, identity, ENTER)) return false
    if (folder === '/') return true
  }
}

/** Fails early where a box would only say "permission denied" at some later time. */
export function checkAccess(worktree: string, isWritable: boolean, identity: Identity): void {
  const { uid, gid } = identity
  const isOpen = allows(worktree, identity, READ | ENTER)
  if (isOpen && (!isWritable || allows(worktree, identity, WRITE))) return
  throw new MatrixError(
    'SANDBOX_REFUSED',
    `Matrix runs as root, and its boxes as user ${uid}, who may not ${isOpen ? 'write' : 'read'} ${worktree}.`,
    { hint: `Run Matrix as the owner of the folder, or give the folder away: chown -R ${uid}:${gid} ${worktree}` },
  )
}

/** Fails early where a program would only say that its own file is not there; `root` is what its box can see of the way to it. */
export function checkReadable(path: string, root: string, identity: Identity): void {
  for (let each = path; ; each = dirname(each)) {
    const needed = statSync(each).isDirectory() ? READ | ENTER : READ
    if (!allows(each, identity, needed))
      throw new MatrixError(
        'SANDBOX_REFUSED',
        `Matrix runs as root, and its boxes as user ${identity.uid}, who may not read ${each}.`,
        { hint: `Run Matrix as the owner of it, or open it for reading: chmod -R go+rX ${each}` },
      )
    if (each === root) return
  }
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

const READ = 4
const WRITE = 2
const ENTER = 1

function allows(path: string, { uid, gid }: Identity, bits: number): boolean {
  const found = statSync(path)
  const shift = found.uid === uid ? 6 : found.gid === gid ? 3 : 0
  return ((found.mode >> shift) & bits) === bits
}
