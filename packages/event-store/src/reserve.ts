import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { type FileSystem, hasErrorCode } from './file-system.ts'
import { storageError } from './session-writer.ts'

/** Room that is kept for when there is none: given up, it lets what still has to be said be written to a full disk. */
export type Reserve = {
  isHeld(): boolean
  /** Gives the room up, and answers whether there was any. */
  spend(): Promise<boolean>
  /** Takes the room back once there is enough again, and answers whether it is held. */
  refill(): Promise<boolean>
  /** Whether the disk has room for the reserve and for as much again: with less, it would soon be full once more. */
  hasRoom(): Promise<boolean>
}

const CHUNK = 1024 * 1024

/** Opens the reserve of so many bytes; it is held from the first `refill` on, also by the processes after this one. */
export async function openReserve(fileSystem: FileSystem, path: string, bytes: number): Promise<Reserve> {
  let held = bytes > 0 && (await fileSystem.stat(path))?.size === bytes
  let filling: Promise<boolean> | undefined

  return {
    isHeld: () => held,
    async spend() {
      if (!held) return false
      held = false
      await fileSystem.remove(path)
      await fileSystem.syncDirectory(dirname(path))
      return true
    },
    async refill() {
      if (held || bytes <= 0) return held
      filling ??= fill(fileSystem, path, bytes).finally(() => {
        filling = undefined
      })
      held = await filling
      return held
    },
    async hasRoom() {
      const wanted = Math.max(bytes, CHUNK) + (held ? 0 : bytes)
      return (await fileSystem.freeBytes(path)) >= wanted
    },
  }
}

async function fill(fileSystem: FileSystem, path: string, bytes: number): Promise<boolean> {
  const part = `${path}.part`
  try {
    await writeNoise(fileSystem, part, bytes)
    await fileSystem.rename(part, path)
    await fileSystem.syncDirectory(dirname(path))
    return true
  } catch (error) {
    await fileSystem.remove(part)
    if (hasErrorCode(error, 'ENOSPC', 'EDQUOT')) return false
    throw storageError(`Cannot write ${path}`, error)
  }
}

// Noise, because some file systems store zeros as nothing, which would be no room at all.
async function writeNoise(fileSystem: FileSystem, path: string, bytes: number): Promise<void> {
  const noise = randomBytes(CHUNK)
  const file = await fileSystem.open(path, 'write')
  try {
    for (let at = 0; at < bytes; ) {
      const written = await file.write(noise.subarray(0, Math.min(CHUNK, bytes - at)), at)
      if (written === 0) throw Object.assign(new Error('no bytes were taken'), { code: 'ENOSPC' })
      at += written
    }
    await file.sync()
  } finally {
    await file.close()
  }
}
