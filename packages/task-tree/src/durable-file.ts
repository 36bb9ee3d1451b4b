import { dirname } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import type { Disk, DiskFile } from './disk.ts'

/** Puts new content in a file's place: after a crash the file holds the old content or the new, never a part of either. */
export async function replaceFile(disk: Disk, path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.tmp`
  try {
    // A crash in the middle of a rename may leave both names on one file: writing to the old name would empty the new one.
    await disk.remove(temporary).catch(ignoreMissing)
    await writeNew(disk, temporary, Buffer.from(content))
    await disk.rename(temporary, path)
  } catch (error) {
    await disk.remove(temporary).catch(() => {})
    throw storageError(error, path)
  }
  await syncParent(disk, path)
}

/** The same disk, whose failures name the file and what to do. That something is missing stays an answer. */
export function explainFaults(disk: Disk): Disk {
  const explained = <T>(verb: string, path: string, work: Promise<T>): Promise<T> =>
    work.catch((error) => {
      throw isMissing(error) ? error : storageError(error, path, verb)
    })
  return {
    read: (path) => explained('read', path, disk.read(path)),
    open: (path, how) => explained('open', path, disk.open(path, how)),
    rename: (from, to) => explained('move', from, disk.rename(from, to)),
    remove: (path) => explained('remove', path, disk.remove(path)),
    removeTree: (path) => explained('remove', path, disk.removeTree(path)),
    makeDirectory: (path, mode) => explained('make', path, disk.makeDirectory(path, mode)),
    syncDirectory: disk.syncDirectory, // What a failed one means is for those to say who asked for it.
    list: (path) => explained('list', path, disk.list(path)),
    kind: (path) => explained('look at', path, disk.kind(path)),
  }
}

/** What is in a file, or nothing where there is none. One that cannot be read is not taken for one that is not there. */
export async function readFile(disk: Disk, path: string): Promise<Uint8Array | undefined> {
  return disk.read(path).catch((error) => {
    if (isMissing(error)) return undefined
    throw error
  })
}

/** Takes a file away for good. One that is already gone is no error. */
export async function removeFile(disk: Disk, path: string): Promise<void> {
  try {
    await disk.remove(path)
  } catch (error) {
    if (isMissing(error)) return
    throw storageError(error, path)
  }
  await syncParent(disk, path)
}

/** Writes all of it. A disk that takes less than it was given says why only on the next attempt. */
export async function writeWhole(file: DiskFile, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0
  while (written < bytes.length) {
    const count = await file.write(bytes.subarray(written), position + written)
    if (count === 0) throw Object.assign(new Error('the disk took no bytes'), { code: 'ENOSPC' })
    written += count
  }
}

/** A full disk can be tried again once there is room; after any other failure nobody knows what the disk holds. */
export function storageError(error: unknown, path: string, verb = 'write'): MatrixError {
  if (error instanceof MatrixError) return error
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new MatrixError('STORAGE_FULL', `No room left to write ${path} (${code})`, { cause: error })
  return new MatrixError('STORAGE_FAILED', `Could not ${verb} ${path} (${code})`, { cause: error })
}

export function decodeText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error
}

async function writeNew(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const file = await disk.open(path, 'create')
  try {
    await writeWhole(file, bytes, 0)
    await file.sync()
  } finally {
    await file.close()
  }
}

// The change is already visible here, so even a full disk leaves it open whether it will survive.
async function syncParent(disk: Disk, path: string): Promise<void> {
  try {
    await disk.syncDirectory(dirname(path))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new MatrixError('STORAGE_FAILED', `Could not sync the folder of ${path} (${code})`, { cause: error })
  }
}
