import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  type Stats,
} from 'node:fs'
import { setImmediate as breathe } from 'node:timers/promises'
import { MatrixError } from '@matrix/protocol'

/** One file or link: what it holds, and the marks by which the kernel shows that it was not written to since. */
export type TreeEntry = { kind: 'file' | 'link' | 'other'; digest: string; stamp: string }

/** Everything below a folder, by its path there. */
export type FileTree = ReadonlyMap<string, TreeEntry>

export type ScanOptions = {
  /** What is known from before: a file with the same stamp is not read again. */
  known?: FileTree | undefined
  /** What does not count; of a folder, nothing in it does. */
  isSkipped?: ((path: string) => boolean) | undefined
}

const MAX_ENTRIES = 100_000
const MAX_BYTES = 2 * 1024 ** 3
const SLICE_MS = 10
const CHUNK = 1 << 20

/**
 * Looks at every file below a folder, and follows no link. The time of the last change (ctime) is in the stamp: a program
 * can set back every other mark of a file, but not that one.
 */
export async function scanTree(root: string, { known, isSkipped }: ScanOptions = {}): Promise<FileTree> {
  const found = new Map<string, TreeEntry>()
  const folders = ['']
  let bytes = 0
  let last = performance.now()
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const { name, isFolder } of list(`${root}/${folder}`)) {
      const path = folder + name
      if (isSkipped?.(path)) continue
      if (isFolder) {
        folders.push(`${path}/`)
        continue
      }
      const stats = lstatSync(`${root}/${path}`)
      bytes += stats.size
      if (found.size >= MAX_ENTRIES || bytes > MAX_BYTES) throw tooLarge(root)
      found.set(path, look(root, path, stats, known))
    }
    if (performance.now() - last > SLICE_MS) {
      await breathe()
      last = performance.now()
    }
  }
  return found
}

/** One digest over names and contents. What only this machine knows is no part of it. */
export function treeDigest(tree: FileTree): string {
  const hash = createHash('sha256')
  for (const path of [...tree.keys()].sort()) {
    const { kind, digest } = tree.get(path) as TreeEntry
    hash.update(`${kind} ${digest} ${JSON.stringify(path)}\n`)
  }
  return `sha256:${hash.digest('hex')}`
}

/** What is different in the second, one phrase each. */
export function diffTrees(before: FileTree, after: FileTree): string[] {
  const gone = [...before.keys()].filter((path) => !after.has(path)).map((path) => `${path} is gone`)
  const others = [...after].flatMap(([path, entry]) => {
    const was = before.get(path)
    if (!was) return [`${path} was added`]
    if (was.kind !== entry.kind)
      return [`${path} was replaced by ${entry.kind === 'link' ? 'a link' : 'something else'}`]
    return was.digest === entry.digest ? [] : [`${path} ${entry.kind === 'link' ? 'leads elsewhere' : 'was changed'}`]
  })
  return [...gone, ...others].sort()
}

function list(folder: string): { name: string; isFolder: boolean }[] {
  return readdirSync(folder, { withFileTypes: true }).map((entry) => ({
    name: entry.name,
    isFolder: entry.isDirectory(),
  }))
}

function look(root: string, path: string, stats: Stats, known: FileTree | undefined): TreeEntry {
  const stamp = stampOf(stats)
  const before = known?.get(path)
  if (before?.stamp === stamp) return before
  if (stats.isSymbolicLink()) return { kind: 'link', digest: JSON.stringify(readlinkSync(`${root}/${path}`)), stamp }
  if (!stats.isFile()) return { kind: 'other', digest: '', stamp }
  return { kind: 'file', digest: hashFile(`${root}/${path}`), stamp }
}

function stampOf({ ino, mode, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${mode} ${size} ${mtimeMs} ${ctimeMs}`
}

/** Through one descriptor, so that what is read is what was looked at. */
function hashFile(file: string): string {
  const handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const hash = createHash('sha256')
    const { size } = fstatSync(handle)
    const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(CHUNK, size)))
    for (let read = readSync(handle, buffer); read > 0; read = readSync(handle, buffer))
      hash.update(buffer.subarray(0, read))
    return hash.digest('hex')
  } finally {
    closeSync(handle)
  }
}

function tooLarge(root: string): MatrixError {
  return new MatrixError(
    'PACKAGE_UNVERIFIABLE',
    `${root} holds too much to be verified: over ${MAX_ENTRIES} files or 2 GiB.`,
    {
      hint: 'Move the server into a folder of its own.',
    },
  )
}
