import { type Disk, type DiskFile, nodeDisk } from './disk.ts'
import { type Git, runGit } from './git.ts'
import type { SandboxGit, SandboxProcess } from './sandbox-git.ts'

/** A process that dies at one of its steps: every use of the disk and of git is one. What comes after does not happen. */
export type DyingProcess = {
  disk: Disk
  git: Git
  /** The same sandbox, whose programs end with the process. */
  inSandbox(sandbox: SandboxGit): SandboxGit
  readonly steps: number
}

/** Thrown at and after the last step, as if nobody were there any more. */
export class ProcessDied extends Error {
  override readonly name = 'ProcessDied'
}

/** `before` dies without the step, `after` once it is done but before anyone hears of it. */
export function dyingProcess(deathStep = Number.POSITIVE_INFINITY, when: 'before' | 'after' = 'before'): DyingProcess {
  let steps = 0
  const step = async <T>(act: () => Promise<T>): Promise<T> => {
    steps += 1
    if (steps > deathStep || (steps === deathStep && when === 'before')) throw new ProcessDied()
    const result = await act()
    if (steps >= deathStep) throw new ProcessDied()
    return result
  }
  const stepping = (file: DiskFile): DiskFile => ({
    write: (bytes, position) => step(() => file.write(bytes, position)),
    sync: () => step(() => file.sync()),
    truncate: (length) => step(() => file.truncate(length)),
    close: () => file.close(),
  })
  const starting = async (start: () => Promise<SandboxProcess>) => {
    let running: SandboxProcess | undefined
    try {
      return await step(async () => {
        running = await start()
        return running
      })
    } catch (error) {
      await running?.stop(0)
      throw error
    }
  }
  return {
    get steps() {
      return steps
    },
    inSandbox: (sandbox) => ({
      ...sandbox,
      start: (run) => starting(() => sandbox.start(run)),
      startFenced: (run) => starting(() => sandbox.startFenced(run)),
    }),
    git: (args, options) => step(() => runGit(args, options)),
    disk: {
      read: nodeDisk.read,
      list: nodeDisk.list,
      kind: nodeDisk.kind,
      open: (path, how) => step(async () => stepping(await nodeDisk.open(path, how))),
      rename: (from, to) => step(() => nodeDisk.rename(from, to)),
      remove: (path) => step(() => nodeDisk.remove(path)),
      removeTree: (path) => step(() => nodeDisk.removeTree(path)),
      makeDirectory: (path, mode) => step(() => nodeDisk.makeDirectory(path, mode)),
      syncDirectory: (path) => step(() => nodeDisk.syncDirectory(path)),
    },
  }
}
