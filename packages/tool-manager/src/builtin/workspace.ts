import { constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import { isWithin } from '../sandbox/mount.ts'
import { protectedNames } from '../sandbox/protected-path.ts'

/** The folder that the built-in tools work in, and how far from it they may go. */
export type Workspace = {
  /** With all links resolved. */
  root: string
  /** Where long output is kept; it may be read as well. */
  spillFolder: string
  /** Whether a kernel sandbox already decides what can be reached. If not, paths are checked here. */
  isBoxed: boolean
}

/** The real path of something that exists. */
export async function resolveExisting(workspace: Workspace, path: string): Promise<string> {
  const absolute = absolutePath(workspace, path)
  const real = await realpath(absolute).catch((cause) => {
    throw failed(reasonOf(cause, path), { cause })
  })
  if (!isReadable(workspace, real)) throw outside(path)
  return real
}

/** The real path of a file to be written, which need not exist; nothing on the way to it may lead out. */
export async function resolveTarget(workspace: Workspace, path: string): Promise<string> {
  const absolute = absolutePath(workspace, path)
  const existing = await realpath(absolute).catch(() => undefined)
  const real = existing ?? join(await resolveFolder(dirname(absolute)), basename(absolute))
  if (workspace.isBoxed) return real
  if (!isWithin(real, workspace.root) || real === workspace.root) throw outside(path)
  const [top = ''] = relative(workspace.root, real).split('/')
  if (protectedNames.some((name) => name === top))
    throw failed(`${path} is protected: ${top} is read by other programs and is not written by tools.`)
  return real
}

/** Opens a regular file and nothing else: a pipe would never end, a device would never stop. */
export async function openRegular(
  workspace: Workspace,
  path: string,
): Promise<{ file: FileHandle; size: number; path: string }> {
  const real = await resolveExisting(workspace, path)
  // Without O_NONBLOCK, opening a pipe that nobody writes to waits for ever.
  const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY).catch((cause) => {
    throw failed(reasonOf(cause, path), { cause })
  })
  try {
    const found = await file.stat()
    if (found.isDirectory()) throw failed(`${path} is a folder.`, { hint: 'Use list_files for a folder.' })
    if (!found.isFile()) throw failed(`${path} is not a regular file.`)
    // What was opened counts, not what the path meant a moment ago.
    const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => real)
    if (!isReadable(workspace, opened)) throw outside(path)
    return { file, size: found.size, path: real }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** A path as the model should see it: relative where it is in the workspace. */
export function showPath({ root }: Workspace, path: string): string {
  return isWithin(path, root) ? relative(root, path) || '.' : path
}

export async function kindOf(path: string): Promise<'file' | 'folder' | 'other'> {
  const found = await stat(path)
  return found.isDirectory() ? 'folder' : found.isFile() ? 'file' : 'other'
}

export function failed(message: string, options: { hint?: string; cause?: unknown } = {}): MatrixError {
  return new MatrixError('TOOL_FAILED', message, options)
}

function absolutePath({ root }: Workspace, path: string): string {
  if (path === '' || path.includes('\0')) throw failed('The path is empty or holds a NUL character.')
  return resolve(root, path)
}

function isReadable({ root, spillFolder, isBoxed }: Workspace, path: string): boolean {
  return isBoxed || isWithin(path, root) || isWithin(path, spillFolder)
}

/** The real path of the part that exists, with the rest behind it. */
async function resolveFolder(folder: string): Promise<string> {
  const real = await realpath(folder).catch(() => undefined)
  if (real || folder === '/') return real ?? folder
  return join(await resolveFolder(dirname(folder)), basename(folder))
}

function outside(path: string): MatrixError {
  return failed(`${path} is outside of the workspace.`, { hint: 'Use a path inside the workspace.' })
}

function reasonOf(cause: unknown, path: string): string {
  const { code } = cause as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return `${path} does not exist.`
  if (code === 'EACCES' || code === 'EPERM') return `${path} may not be read.`
  if (code === 'ELOOP') return `${path} is a link that leads to itself.`
  if (code === 'ENXIO') return `${path} is not a regular file.`
  return `${path} cannot be opened (${code ?? String(cause)}).`
}
