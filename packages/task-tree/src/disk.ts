import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, readFile, rename, rm, unlink } from 'node:fs/promises'

/** An open file. `write` may write less than it was given, as the operating system may. */
export type DiskFile = {
  write(bytes: Uint8Array, position: number): Promise<number>
  sync(): Promise<void>
  truncate(length: number): Promise<void>
  close(): Promise<void>
}

export type DiskEntry = 'file' | 'directory' | 'link' | 'other' | 'missing'

/** Every touch of the file system goes through here, so that a test can make any of them fail or be the last. */
export type Disk = {
  read(path: string): Promise<Uint8Array>
  /** `create` starts an empty file, `update` keeps what is there; neither follows a link. */
  open(path: string, how: 'create' | 'update'): Promise<DiskFile>
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  removeTree(path: string): Promise<void>
  /** Nobody else may look into it, unless a mode is given. */
  makeDirectory(path: string, mode?: number): Promise<void>
  /** Also for a file that someone else has written. */
  syncDirectory(path: string): Promise<void>
  list(path: string): Promise<string[]>
  kind(path: string): Promise<DiskEntry>
}

export const nodeDisk: Disk = {
  read: (path) => readFile(path),
  open: openFile,
  rename: (from, to) => rename(from, to),
  remove: (path) => unlink(path),
  removeTree: (path) => rm(path, { recursive: true, force: true, maxRetries: 3 }),
  makeDirectory: async (path, mode = 0o700) => void (await mkdir(path, { recursive: true, mode })),
  syncDirectory,
  list: (path) => readdir(path),
  kind,
}

const flags = {
  create: constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW,
  update: constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW,
}

async function openFile(path: string, how: 'create' | 'update'): Promise<DiskFile> {
  const handle = await open(path, flags[how], 0o600)
  return {
    write: async (bytes, position) => (await handle.write(bytes, 0, bytes.length, position)).bytesWritten,
    sync: () => handle.datasync(),
    truncate: (length) => handle.truncate(length),
    close: () => handle.close(),
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function kind(path: string): Promise<DiskEntry> {
  const entry = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  if (!entry) return 'missing'
  if (entry.isSymbolicLink()) return 'link'
  if (entry.isDirectory()) return 'directory'
  return entry.isFile() ? 'file' : 'other'
}
