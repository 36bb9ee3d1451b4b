import { link, open, rename, unlink } from 'node:fs/promises'
import { MatrixError } from '@matrix/protocol'

/** Writes a whole file or none of it: a crash leaves the old one, or nothing, never half of the new one. */
export async function writeOutput(path: string, text: string, { force }: { force: boolean }): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    const handle = await open(temporary, 'wx')
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    // A link fails where the name is taken, a rename replaces it.
    if (force) await rename(temporary, path)
    else await link(temporary, path)
  } catch (cause) {
    throw unwritable(path, cause as NodeJS.ErrnoException)
  } finally {
    await unlink(temporary).catch(() => undefined)
  }
}

function unwritable(path: string, cause: NodeJS.ErrnoException): MatrixError {
  if (cause.code === 'EEXIST')
    return new MatrixError('DOCUMENT_UNREADABLE', `${path} exists already.`, {
      hint: 'Pass --force to replace it, or choose another name.',
      cause,
    })
  return new MatrixError('DOCUMENT_UNREADABLE', `${path} cannot be written (${cause.code ?? cause.message}).`, {
    hint: 'Name a file in a directory that exists and that you may write to.',
    cause,
  })
}
