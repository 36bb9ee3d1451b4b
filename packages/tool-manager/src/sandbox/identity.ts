import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
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
 * Gives a worktree to the one its boxes run as: what is root's in it becomes theirs. Links are given, never followed. Whoever
 * is in a box there may move things about meanwhile: each folder is held open while its entries are given, so that a name
 * never leads anywhere else.
 */
export function giveTree(folder: string, identity: Identity): void {
  giveFolder(folder, identity)
}

/** Whether someone without privileges can reach a path and read it. */
export function isReachable(path: string, identity: Identity): boolean {
  if (!allows(path, identity, READ)) return false
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (!allows(folder, identity, ENTER)) return false
    if (folder === '/') return true
  }
}

/** Whether someone without privileges may read a path, once there. */
export function allowsReading(path: string, identity: Identity): boolean {
  return allows(path, identity, statSync(path).isDirectory() ? READ | ENTER : READ)
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

function openFolder(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
}

function giveBelow(handle: number, identity: Identity): void {
  for (const name of readdirSync(`/proc/self/fd/${handle}`)) {
    const path = `/proc/self/fd/${handle}/${name}`
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found?.isDirectory()) giveFolder(path, identity)
    // A second name of a file may lie anywhere, so only files with one are given.
    else if (found?.uid === 0 && (found.nlink === 1 || found.isSymbolicLink()))
      lchownSync(path, identity.uid, identity.gid)
  }
}

function giveFolder(path: string, identity: Identity): void {
  let handle: number
  try {
    handle = openFolder(path)
  } catch {
    // It was replaced a moment ago by whoever owns the folder above; then it is theirs already.
    return
  }
  try {
    giveBelow(handle, identity)
    if (fstatSync(handle).uid === 0) fchownSync(handle, identity.uid, identity.gid)
  } finally {
    closeSync(handle)
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
