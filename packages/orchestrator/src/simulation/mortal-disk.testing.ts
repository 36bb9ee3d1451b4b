import type { SimulatedDisk } from '@matrix/event-store/testing'
import type { SimulatedDisk as TreeDisk } from '@matrix/task-tree/testing'
import { type Mortal, never } from './mortal.testing.ts'

export type StoreDisk = ReturnType<SimulatedDisk['boot']>

/** The store's disk, each change of which is a step that may be the last. */
export function mortalStoreDisk(disk: StoreDisk, { isAlive, isLast, die }: Mortal): StoreDisk {
  const counted =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> => {
      if (!isAlive()) return never<R>()
      const last = isLast()
      const done = work(...args)
      if (last) die()
      return done
    }
  return {
    ...disk,
    rename: counted(disk.rename),
    remove: counted(disk.remove),
    syncDirectory: counted(disk.syncDirectory),
    open: async (path, mode) => {
      const file = await disk.open(path, mode)
      return { ...file, write: counted(file.write), sync: counted(file.sync), truncate: counted(file.truncate) }
    },
  }
}

/** The same for the disk of the tree, which dies in the middle of an operation by itself. */
export function mortalTreeDisk(disk: TreeDisk, { isAlive, isLast, die }: Mortal): TreeDisk {
  const counted =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (!isAlive()) return never<R>()
      if (!isLast()) {
        const done = await work(...args)
        return isAlive() ? done : never<R>()
      }
      disk.dieAt(disk.steps + 1)
      await work(...args).catch(() => undefined)
      if (isAlive()) die()
      return never<R>()
    }
  return {
    ...disk,
    rename: counted(disk.rename),
    remove: counted(disk.remove),
    syncDirectory: counted(disk.syncDirectory),
    async open(path, how) {
      const file = await disk.open(path, how)
      return { ...file, write: counted(file.write), sync: counted(file.sync), truncate: counted(file.truncate) }
    },
  }
}
