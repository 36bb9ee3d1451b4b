import { randomBytes } from 'node:crypto'
import { copyFile, open, realpath, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { finished } from 'node:stream/promises'
import type { Disk } from './disk.ts'
import { isMissing, storageError } from './durable-file.ts'
import { type Git, type GitOptions, gitRunner, type StartGit } from './git.ts'
import type { SandboxGit } from './sandbox-git.ts'

export type FenceOptions = {
  disk: Disk
  sandbox: SandboxGit
  /** Where folders of ours go that no agent sees. */
  directory: string
  /** The user's objects, and all that they are borrowed from. */
  objects: readonly [string, ...string[]]
  /** What else git reads, such as its own git directory. */
  readable: readonly string[]
}

/**
 * git for a folder in which an agent works meanwhile: an agent can swap a folder for a link after git has looked at it. Behind the fence
 * nothing is there but that folder, so the link leads nowhere. What git writes beside it goes to a folder whose name no agent can guess.
 */
export function fencedGit(fence: FenceOptions): Git {
  return async (args, options = {}) => {
    const { disk, directory, objects } = fence
    const room = join(directory, `fence-${randomBytes(16).toString('hex')}`)
    await disk.makeDirectory(join(room, 'objects'))
    try {
      const { GIT_INDEX_FILE: index, ...env } = options.env ?? {}
      const own = join(room, 'index')
      if (index) await copyIfThere(index, own)
      const result = await gitRunner({ start: startBehind(fence, room, options) })(args, {
        ...options,
        env: {
          ...env,
          GIT_OBJECT_DIRECTORY: join(room, 'objects'),
          GIT_ALTERNATE_OBJECT_DIRECTORIES: quotePath(objects[0]),
          ...(index && { GIT_INDEX_FILE: own }),
        },
      })
      await moveObjects(disk, join(room, 'objects'), objects[0])
      // Last, as git itself does: an index names only what is there.
      if (index) await bringIndex(own, index)
      return result
    } finally {
      await disk.removeTree(room)
    }
  }
}

function startBehind({ sandbox, objects, readable }: FenceOptions, room: string, options: GitOptions): StartGit {
  return async (args, { cwd, env }) => {
    const excludes = await Promise.all(args.flatMap((arg) => (arg.startsWith(EXCLUDE) ? [resolveExclude(arg)] : [])))
    const given = Object.entries(env ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
    const running = await sandbox.startFenced({
      args: args.map((arg) => excludes.find((each) => each.arg === arg)?.resolved ?? arg),
      env: Object.fromEntries(given),
      cwd,
      writable: [...(options.workTree ? [options.workTree] : []), room],
      readable: [...objects, ...readable, ...excludes.map(({ path }) => path)],
    })
    const { stdin, stdout, stderr, exited } = running
    const drained = Promise.all([stdout, stderr].map((stream) => finished(stream).catch(() => {})))
    const closed = Promise.all([exited, drained]).then(([exit]) => exit)
    return { stdin, stdout, stderr, closed, end: () => void running.stop(0) }
  }
}

/** A list of folders is parted at each colon, which a folder's name may hold. */
function quotePath(path: string): string {
  return `"${path.replace(/[\\"]/g, '\\$&')}"`
}

const EXCLUDE = '--exclude-from='

/** A file of the user's with names to ignore may be a link; behind the fence only what it leads to is there. */
async function resolveExclude(arg: string): Promise<{ arg: string; path: string; resolved: string }> {
  const path = await realpath(arg.slice(EXCLUDE.length))
  return { arg, path, resolved: `${EXCLUDE}${path}` }
}

async function copyIfThere(from: string, to: string): Promise<void> {
  await copyFile(from, to).catch((error: unknown) => {
    if (!isMissing(error)) throw error
  })
}

async function bringIndex(from: string, to: string): Promise<void> {
  await copyIfThere(from, `${to}.mxd`)
  await rename(`${to}.mxd`, to).catch((error: unknown) => {
    if (!isMissing(error)) throw error
  })
}

/** New objects become part of the repository: single ones first, and of a pack the index last, by which git finds it. */
async function moveObjects(disk: Disk, from: string, to: string): Promise<void> {
  const folders = (await disk.list(from)).filter((name) => /^([0-9a-f]{2}|pack)$/.test(name))
  for (const folder of folders.toSorted()) {
    const names = (await disk.list(join(from, folder))).filter((name) => !name.startsWith('tmp_'))
    if (names.length > 0) await disk.makeDirectory(join(to, folder), 0o777)
    for (const name of names.toSorted((a, b) => Number(a.endsWith('.idx')) - Number(b.endsWith('.idx'))))
      await moveFile(disk, join(from, folder, name), join(to, folder, name))
    if (names.length > 0) await disk.syncDirectory(join(to, folder))
  }
}

async function moveFile(disk: Disk, from: string, to: string): Promise<void> {
  if ((await disk.kind(to)) !== 'missing') return
  await rename(from, to).catch(async (error: NodeJS.ErrnoException) => {
    // The repository may lie on another file system.
    if (error.code !== 'EXDEV') throw storageError(error, to)
    const near = join(dirname(to), `tmp_obj_${basename(from)}`)
    // A crash may have left it, read-only.
    await disk.removeTree(near)
    await copyFile(from, near)
    await syncFile(near)
    await disk.rename(near, to)
  })
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.datasync()
  } finally {
    await handle.close()
  }
}
