import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants

/**
 * Acts on a path below a folder in which an agent may be at work. Each folder on the way is held open, so that one which is swapped
 * for a link meanwhile leads nowhere. Nothing happens where a folder is missing or a link.
 */
export async function beneath<T>(
  folder: string,
  path: string,
  act: (path: string) => Promise<T>,
): Promise<T | undefined> {
  // Agents have a sandbox on Linux alone, and without one they can reach everything anyway.
  if (process.platform !== 'linux') return act(join(folder, path))
  const handles: FileHandle[] = []
  try {
    let place = folder
    for (const part of ['.', ...dirname(path).split(sep)]) {
      const handle = await open(`${place}/${part}`, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(undefinedIfAway)
      if (!handle) return undefined
      handles.push(handle)
      place = `/proc/self/fd/${handle.fd}`
    }
    return await act(join(place, basename(path)))
  } finally {
    for (const handle of handles) await handle.close()
  }
}

function undefinedIfAway(error: NodeJS.ErrnoException): undefined {
  if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code ?? '')) throw error
}
