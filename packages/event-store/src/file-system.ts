import * as nodeFs from 'node:fs'
import { dirname, resolve } from 'node:path'
import { promisify } from 'node:util'

/** One open file. Writing may be short, as on a real disk: the caller compares. */
export type OpenFile = {
  size(): Promise<number>
  read(target: Uint8Array, position: number): Promise<number>
  write(bytes: Uint8Array, position: number): Promise<number>
  truncate(size: number): Promise<void>
  /** After this, what the file holds survives a power cut. */
  sync(): Promise<void>
  close(): Promise<void>
}

/**
 * `write` creates the file when it is missing. `write-through` does too, and there a write that has been answered survives a
 * power cut; one that fails may have left any part of itself behind.
 */
export type OpenMode = 'read' | 'write' | 'write-through'

/** Everything the store asks of a disk, so that a test can be the disk. Failures carry Node's `code`. */
export type FileSystem = {
  open(path: string, mode: OpenMode): Promise<OpenFile>
  stat(path: string): Promise<{ size: number; modifiedAt: number } | undefined>
  list(directory: string): Promise<string[]>
  /** Makes the directory and what is missing above it, in a way that survives a power cut. */
  makeDirectory(path: string): Promise<void>
  /** After this, the names in the directory survive a power cut. */
  syncDirectory(path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  /** How much room there is for files beside this one. */
  freeBytes(path: string): Promise<number>
  /** The name of the network file system that holds the path, if one does. */
  findNetwork(path: string): Promise<string | undefined>
}

export const nodeFileSystem: FileSystem = {
  async open(path, mode) {
    const { O_RDONLY, O_RDWR, O_CREAT, O_DSYNC } = nodeFs.constants
    const flags =
      mode === 'read' ? O_RDONLY : O_RDWR | O_CREAT | (mode === 'write-through' && hasSyncedWrites ? O_DSYNC : 0)
    const file = openNodeFile(await open(path, flags, 0o600))
    return mode === 'write-through' && !hasSyncedWrites ? syncingWrites(file) : file
  },
  async stat(path) {
    const found = await nodeFs.promises.stat(path).catch(undefinedIfMissing)
    return found && { size: found.size, modifiedAt: found.mtimeMs }
  },
  list: (directory) => nodeFs.promises.readdir(directory),
  async makeDirectory(path) {
    const target = resolve(path)
    const highest = await nodeFs.promises.mkdir(target, { recursive: true, mode: 0o700 })
    if (highest === undefined) return
    for (let made = target; made.length >= highest.length; made = dirname(made))
      await nodeFileSystem.syncDirectory(dirname(made))
  },
  async syncDirectory(path) {
    // Windows cannot open a directory, and its file systems journal the names by themselves.
    if (process.platform === 'win32') return
    const directory = await nodeFs.promises.open(path, 'r')
    await directory.sync().finally(() => directory.close())
  },
  rename: (from, to) => nodeFs.promises.rename(from, to),
  remove: (path) => nodeFs.promises.rm(path, { force: true }),
  async freeBytes(path) {
    const { bavail, bsize } = await nodeFs.promises.statfs(dirname(path))
    return bavail * bsize
  },
  async findNetwork(path) {
    if (process.platform !== 'linux') return undefined
    const { type } = await nodeFs.promises.statfs(path)
    return networkTypes.get(type >>> 0)
  },
}

/** Whether an error of the port has this code, such as `ENOSPC`. */
export function hasErrorCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

// Callbacks rather than FileHandle: a handle's promises cost a third of a small write.
const open = promisify(nodeFs.open)
const close = promisify(nodeFs.close)
const fstat = promisify(nodeFs.fstat)
const ftruncate = promisify(nodeFs.ftruncate)
const fdatasync = promisify(nodeFs.fdatasync)

function openNodeFile(descriptor: number): OpenFile {
  return {
    size: async () => (await fstat(descriptor)).size,
    read: (target, position) =>
      new Promise((resolve, reject) => {
        nodeFs.read(descriptor, target, 0, target.byteLength, position, (error, count) =>
          error ? reject(error) : resolve(count),
        )
      }),
    write: (bytes, position) =>
      new Promise((resolve, reject) => {
        nodeFs.write(descriptor, bytes, 0, bytes.byteLength, position, (error, count) =>
          error ? reject(error) : resolve(count),
        )
      }),
    truncate: (size) => ftruncate(descriptor, size),
    sync: () => fdatasync(descriptor),
    close: () => close(descriptor),
  }
}

// One call of the kernel, and one trip to a thread, where there would be two. Elsewhere the flag promises less than a sync does.
const hasSyncedWrites = process.platform === 'linux'

/** The same for a system without such writes. */
export function syncingWrites(file: OpenFile): OpenFile {
  return {
    ...file,
    async write(bytes, position) {
      const written = await file.write(bytes, position)
      await file.sync()
      return written
    },
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (hasErrorCode(error, 'ENOENT')) return undefined
  throw error
}

// The f_type values of statfs(2) under which locks or fsync do not mean what they mean on a local disk.
const networkTypes = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x65735546, 'FUSE'],
  [0x01021997, '9p'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
])
