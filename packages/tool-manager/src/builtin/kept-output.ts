import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where a host folder for long output is named. Without one, it is kept for as long as the server runs. */
export const OUTPUT_FOLDER = 'MATRIX_OUTPUT'

/** The folder that holds what was too long to be shown. */
export type KeptOutput = {
  folder: string
  /** The path of a file to be made. The oldest files make room for it. */
  nextFile(): string
  close(): void
}

const MAX_FILES = 100
const MAX_BYTES = 512 << 20

export function openKeptOutput(given = process.env[OUTPUT_FOLDER]): KeptOutput {
  if (given) mkdirSync(given, { recursive: true })
  const folder = realpathSync(given ?? mkdtempSync(join(tmpdir(), 'matrix-output-')))
  return {
    folder,
    nextFile() {
      makeRoom(folder)
      return join(folder, `output-${randomBytes(6).toString('hex')}.txt`)
    },
    close() {
      if (!given) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Removes the oldest files until those that are left are few and small enough. */
export function makeRoom(folder: string, { maxFiles = MAX_FILES, maxBytes = MAX_BYTES } = {}): void {
  const files = readFiles(folder).sort((one, other) => other.changedAt - one.changedAt)
  let bytes = 0
  for (const [index, file] of files.entries()) {
    bytes += file.size
    if (index >= maxFiles - 1 || bytes > maxBytes) rmSync(file.path, { force: true })
  }
}

function readFiles(folder: string): { path: string; size: number; changedAt: number }[] {
  try {
    return readdirSync(folder).flatMap((name) => {
      const path = join(folder, name)
      const found = statSync(path, { throwIfNoEntry: false })
      return found?.isFile() ? [{ path, size: found.size, changedAt: found.mtimeMs }] : []
    })
  } catch {
    return []
  }
}
