import type { Disk, DiskFile } from './disk.ts'

/** An operation about to happen: `open`, `write`, `sync`, `rename` and so on, with the path it is about. */
export type DiskOperation = { step: number; name: keyof Disk | keyof DiskFile; path: string }

/** What to do with an operation: let it happen, write only a part, or fail with a code such as ENOSPC. */
export type Fault = undefined | 'short' | { code: string }

/** A disk that fails where the test says so. */
export function faultyDisk(disk: Disk, faultAt: (operation: DiskOperation) => Fault): Disk {
  let step = 0
  const decide = (name: DiskOperation['name'], path: string): 'short' | undefined => {
    step += 1
    const fault = faultAt({ step, name, path })
    if (typeof fault === 'object') throw Object.assign(new Error(`${fault.code}: ${name} ${path}`), fault)
    return fault
  }
  const guarded = async <T>(name: DiskOperation['name'], path: string, act: () => Promise<T>): Promise<T> => {
    decide(name, path)
    return act()
  }

  const guardFile = (file: DiskFile, path: string): DiskFile => ({
    async write(bytes, position) {
      const fault = decide('write', path)
      return file.write(fault === 'short' ? bytes.subarray(0, Math.ceil(bytes.length / 3)) : bytes, position)
    },
    sync: () => guarded('sync', path, () => file.sync()),
    truncate: (length) => guarded('truncate', path, () => file.truncate(length)),
    close: () => file.close(),
  })

  return {
    read: (path) => guarded('read', path, () => disk.read(path)),
    open: (path, how) => guarded('open', path, async () => guardFile(await disk.open(path, how), path)),
    rename: (from, to) => guarded('rename', from, () => disk.rename(from, to)),
    remove: (path) => guarded('remove', path, () => disk.remove(path)),
    removeTree: (path) => guarded('removeTree', path, () => disk.removeTree(path)),
    makeDirectory: (path, mode) => guarded('makeDirectory', path, () => disk.makeDirectory(path, mode)),
    syncDirectory: (path) => guarded('syncDirectory', path, () => disk.syncDirectory(path)),
    list: (path) => guarded('list', path, () => disk.list(path)),
    kind: (path) => guarded('kind', path, () => disk.kind(path)),
  }
}
