import { constants } from 'node:fs'
import { chmod, lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { MatrixError } from '@matrix/protocol'

/** Makes a folder that only its owner can enter, or makes sure that the one that is there is such a folder. */
export async function ensureOwnFolder(folder: string, { mode = 0o077 }: { mode?: number } = {}): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw storageError(error, `Cannot make ${folder}`)
  })
  const { isLink, isFolder, isForeign, permissions } = await inspect(folder)
  if (isLink || !isFolder) throw unsafe(`${folder} is not a folder.`, `Move what is there somewhere else.`)
  if (isForeign) throw unsafe(`${folder} belongs to another user.`, 'Choose a folder of your own with --data-dir.')
  if (permissions & mode) throw unsafe(`${folder} is open to other users.`, `Run chmod 700 ${folder}.`)
}

/** Writes a new secret where nobody else can read it. A file that others could have planted or read is not replaced but refused. */
export async function writeSecretFile(file: string, text: string): Promise<void> {
  const found = await inspect(file).catch(() => undefined)
  if (found?.isLink) throw unsafe(`${file} is a link.`, 'Find out who made it, then remove it.')
  if (found?.isForeign) throw unsafe(`${file} belongs to another user.`, 'Find out who made it, then remove it.')
  if (found && found.permissions & 0o077)
    throw unsafe(`${file} could be read by other users.`, `Find out why, then run rm ${file}.`)
  try {
    await rm(file, { force: true })
    await writeNew(file, text)
  } catch (error) {
    throw storageError(error, `Could not write ${file}`)
  }
}

/** Replaces a file so that a crash leaves the old content or the new, readable by its owner only. */
export async function replaceOwnFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.new`
  try {
    await rm(temporary, { force: true })
    await writeNew(temporary, text)
    await rename(temporary, file)
    await syncFolder(dirname(file))
  } catch (error) {
    throw storageError(error, `Could not write ${file}`)
  }
}

async function writeNew(file: string, text: string): Promise<void> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const handle = await open(file, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  // The umask may have taken rights away that the owner needs.
  await chmod(file, 0o600)
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

async function inspect(path: string) {
  const status = await lstat(path)
  return {
    isLink: status.isSymbolicLink(),
    isFolder: status.isDirectory(),
    isForeign: process.getuid !== undefined && status.uid !== process.getuid(),
    permissions: status.mode & 0o777,
  }
}

function unsafe(message: string, hint: string): MatrixError {
  return new MatrixError('STORAGE_UNSAFE', message, { hint })
}

export function storageError(error: unknown, what: string): MatrixError {
  if (error instanceof MatrixError) return error
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
  const isFull = code === 'ENOSPC' || code === 'EDQUOT'
  return new MatrixError(isFull ? 'STORAGE_FULL' : 'STORAGE_FAILED', `${what} (${code}).`, { cause: error })
}
