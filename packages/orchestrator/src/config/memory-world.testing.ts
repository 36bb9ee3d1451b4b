import { basename, dirname } from 'node:path'
import type { World } from '../world.ts'

export type MemoryWorld = World & {
  disk: Map<string, string>
  /** Called before each write; what it throws is what the disk does. */
  onWrite: (path: string) => void | Promise<void>
}

/** A world that is all in memory: a disk, a clock that stands still, ids that count, and an environment. */
export function memoryWorld(files: Record<string, string> = {}, environment: Record<string, string> = {}): MemoryWorld {
  const disk = new Map(Object.entries(files))
  let ids = 0
  const world: MemoryWorld = {
    disk,
    onWrite: () => {},
    clock: { now: () => Date.UTC(2026, 0, 2, 3, 4, 5), after: () => () => {} },
    random: () => 0.5,
    newId() {
      ids += 1
      return `01JZZZZZZZZZZZZZZZZZZZZ${String(ids).padStart(3, '0')}`
    },
    env: (name) => environment[name],
    files: {
      read: async (path) => disk.get(path),
      async write(path, text) {
        await world.onWrite(path)
        disk.set(path, text)
      },
      isDirectory: async (path) => [...disk.keys()].some((each) => each.startsWith(`${path}/`)),
      realPath: async (path) => path,
      list: async (folder) =>
        [...disk.keys()].flatMap((path) => (dirname(path) === folder ? [basename(path)] : [])).toSorted(),
    },
  }
  return world
}
