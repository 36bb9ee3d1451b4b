import { randomBytes } from 'node:crypto'
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DRAFT_PREFIX } from '@matrix/protocol'
import { failed, resolveTarget, type Workspace } from './workspace.ts'

export type WriteResult = { path: string; bytes: number; existed: boolean }

const MAX_BYTES = 32 << 20

/** Writes a whole file, so that others see the old text or the new one and never a part of it. */
export async function writeWholeFile(workspace: Workspace, path: string, text: string): Promise<WriteResult> {
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_BYTES) throw failed(`${path} would have ${bytes} bytes; ${MAX_BYTES} are the most.`)
  const target = await resolveTarget(workspace, path)
  const found = await lstat(target).catch(() => undefined)
  if (found?.isDirectory()) throw failed(`${path} is a folder.`)
  if (found && !found.isFile()) throw failed(`${path} is not a regular file.`)

  try {
    await mkdir(dirname(target), { recursive: true })
    await replaceFile(target, text, found ? found.mode & 0o777 : undefined)
  } catch (cause) {
    throw failed(`${path} could not be written: ${explain(cause)}`, { cause })
  }
  return { path: target, bytes, existed: found !== undefined }
}

async function replaceFile(target: string, text: string, mode: number | undefined): Promise<void> {
  const draft = join(dirname(target), `${DRAFT_PREFIX}${randomBytes(8).toString('hex')}`)
  try {
    const file = await open(draft, 'wx', mode ?? 0o666)
    try {
      await file.writeFile(text)
      // What `open` was asked for is narrowed by the umask; the old file may have been open to more.
      if (mode !== undefined) await file.chmod(mode)
    } finally {
      await file.close()
    }
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

function explain(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  const words: Record<string, string> = {
    EROFS: 'it is read-only here.',
    EACCES: 'that is not permitted.',
    EPERM: 'that is not permitted.',
    ENOTDIR: 'a part of the path is a file.',
    EEXIST: 'a part of the path is a file.',
    ENOSPC: 'the disk is full.',
    EFBIG: 'it would be larger than a file may be.',
    EBUSY: 'it is protected.',
  }
  return words[code ?? ''] ?? message
}
