import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, sep } from 'node:path'
import { systemClock } from '@matrix/event-store'
import { MatrixError } from '@matrix/protocol'
import { ulid } from 'ulid'
import type { Files, World } from '../world.ts'

/** Settings, memories and manifests are far smaller; what is larger was put there to make us choke. */
const MAX_BYTES = 16 * 1024 * 1024

/** The machine this process runs on. */
export function nodeWorld(): World {
  return { clock: systemClock, random: Math.random, newId: ulid, files: nodeFiles, env: (name) => process.env[name] }
}

const nodeFiles: Files = {
  async read(path, options) {
    const place = options ? await findInside(options.inside, path) : path
    // Without O_NONBLOCK, opening a pipe that somebody put in place of the file would wait forever.
    const flags = constants.O_RDONLY | constants.O_NONBLOCK
    const file = place === undefined ? undefined : await open(place, flags).catch(undefinedIfMissing(path))
    if (!file) return undefined
    try {
      const found = await file.stat()
      if (options && !(await isStillInside(options.inside, path, found))) throw leadsOut(path, options.inside)
      if (!found.isFile()) throw new MatrixError('DOCUMENT_UNREADABLE', `${path} is not a regular file.`)
      if (found.size > MAX_BYTES)
        throw new MatrixError('DOCUMENT_TOO_LARGE', `${path} has ${found.size} bytes; ${MAX_BYTES} are read at most.`)
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  },

  async write(path, text) {
    const temporary = `${path}.${ulid()}.tmp`
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await writeNew(temporary, text)
      await rename(temporary, path)
      await syncDirectory(dirname(path))
    } catch (cause) {
      await rm(temporary, { force: true }).catch(() => {})
      throw storageError(path, cause)
    }
  },

  isDirectory: async (path) => (await stat(path).catch(() => undefined))?.isDirectory() ?? false,

  realPath: (path) => realpath(path).catch(undefinedIfMissing(path)),

  list: async (folder) => ((await readdir(folder).catch(undefinedIfMissing(folder))) ?? []).toSorted(),
}

/** Where the file really is. */
async function findInside(folder: string, path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(undefinedIfMissing(path))
  if (real === undefined || real.startsWith(`${await realpath(folder)}${sep}`)) return real
  throw leadsOut(path, folder)
}

/** Between the look and the opening somebody may have put a link there. */
async function isStillInside(folder: string, path: string, opened: Stats): Promise<boolean> {
  const real = await findInside(folder, path)
  const found = real === undefined ? undefined : await lstat(real)
  return found?.ino === opened.ino && found.dev === opened.dev
}

function leadsOut(path: string, folder: string): MatrixError {
  return new MatrixError('DOCUMENT_UNREADABLE', `${path} is not read: a link leads out of ${folder}.`, {
    hint: 'Put the text itself there.',
  })
}

async function writeNew(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory, and its file systems journal the names by themselves.
  if (process.platform === 'win32') return
  const directory: FileHandle = await open(path, 'r')
  await directory.sync().finally(() => directory.close())
}

function storageError(path: string, cause: unknown): MatrixError {
  const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error'
  const isFull = code === 'ENOSPC' || code === 'EDQUOT'
  return new MatrixError(isFull ? 'STORAGE_FULL' : 'STORAGE_FAILED', `Could not write ${path} (${code}).`, { cause })
}

function undefinedIfMissing(path: string): (cause: NodeJS.ErrnoException) => undefined {
  return (cause) => {
    if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR') return undefined
    throw new MatrixError('DOCUMENT_UNREADABLE', `${path} cannot be read (${cause.code}).`, { cause })
  }
}
