import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { MatrixError, printableLine } from '@matrix/protocol'
import { diffTrees, type FileTree, scanTree, treeDigest } from './file-tree.ts'
import { isSystemPath, isWithin } from './sandbox/mount.ts'
import { isStale, readListing, writeListing } from './tree-listing.ts'

/** What a program of this machine, or of a bundle, can load beside its own file. */
export type LoadedFiles = {
  folder: string
  /** Where it is kept what was found there when it was last right. */
  listings: string
  /** What the lock, or the bundle, says the digest is. */
  pinned?: string | undefined
  /** Reads every byte, also of files that were not written to since. */
  isFull?: boolean | undefined
  /** The agent's own folder, where that lies inside. */
  worktree?: string | undefined
  /** What to do about other files. */
  hint: string
}

/** One digest over every file of a folder. Files other than the pinned ones are refused, and named. */
export async function digestLoaded(files: LoadedFiles): Promise<string> {
  const { folder, listings, pinned, isFull, worktree, hint } = files
  const listing = (digest: string) => join(listings, `${hash(`${folder}\0${digest}`)}.json`)
  const before = pinned === undefined ? undefined : await readListing(listing(pinned))
  const isSkipped = (path: string) =>
    isNoCode(path) || (worktree !== undefined && isWithin(join(folder, path), worktree))
  const tree = await scanTree(folder, { known: isFull ? undefined : before, isSkipped })
  const digest = treeDigest(tree)
  if (pinned !== undefined && digest !== pinned) throw changedFiles(folder, before, tree, hint)
  if (!before || isStale(before, tree)) await writeListing(listing(digest), tree)
  return digest
}

/** A native program in a folder of programs, or one of the system, has nothing of its own beside it. */
export async function loadsBeside(file: string): Promise<boolean> {
  if (isSystemPath(file)) return false
  return basename(dirname(file)) !== 'bin' || (await isScript(file))
}

/** History, and what `matrix lock` itself writes beside an agent's file. */
function isNoCode(path: string): boolean {
  return /(?:^|\/)\.git$/.test(path) || /^[^/]+\.lock(?:\.dependencies)?\.json$/.test(path)
}

async function isScript(file: string): Promise<boolean> {
  const handle = await open(file, 'r')
  try {
    const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0)
    return buffer.toString('latin1') === '#!'
  } finally {
    await handle.close()
  }
}

function changedFiles(folder: string, before: FileTree | undefined, after: FileTree, hint: string): MatrixError {
  const [first, ...more] = before ? diffTrees(before, after) : []
  const what = first ? `: ${printableLine(first)}${more.length > 0 ? `, and ${more.length} more` : ''}` : ''
  return new MatrixError('PACKAGE_MISMATCH', `${folder} does not hold the files that were approved${what}.`, { hint })
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
