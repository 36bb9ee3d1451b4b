import { randomBytes } from 'node:crypto'
import { chown, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makeRoom, OUTPUT_FOLDER, resolveIdentity, type Spill, type Surroundings } from '@matrix/tool-manager'

/** Where the long output of a task's tools is kept: beside the worktrees of its project, and out of the repository. */
function outputFolderOf(worktree: string): string | undefined {
  const worktrees = dirname(worktree)
  return basename(worktrees) === 'worktrees' ? join(dirname(worktrees), 'output', basename(worktree)) : undefined
}

/** The folder in the sandbox of a worktree, writable. What was kept for worktrees that are gone is removed. */
export async function outputSurroundings(worktree: string): Promise<Surroundings> {
  const folder = outputFolderOf(worktree)
  if (!folder) return { env: {} }
  await openFolder(folder)
  await removeOrphans(dirname(folder), dirname(worktree))
  return { writable: [folder], env: { [OUTPUT_FOLDER]: folder } }
}

/** Keeps a result that is too long where the agent can read it. */
export function spillTo(worktree: string): Spill | undefined {
  const folder = outputFolderOf(worktree)
  if (!folder) return undefined
  return async (text) => {
    await openFolder(folder)
    makeRoom(folder)
    const file = join(folder, `result-${randomBytes(6).toString('hex')}.txt`)
    // Never through a link: the folder is the sandbox's to write.
    await writeFile(file, text, { flag: 'wx', mode: 0o644 })
    return file
  }
}

async function openFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const identity = resolveIdentity()
  if (identity) await chown(folder, identity.uid, identity.gid)
}

async function removeOrphans(outputs: string, worktrees: string): Promise<void> {
  for (const name of await readdir(outputs))
    if (!(await stat(join(worktrees, name)).catch(() => undefined)))
      await rm(join(outputs, name), { recursive: true, force: true })
}
