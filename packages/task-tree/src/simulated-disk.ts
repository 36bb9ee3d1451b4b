import { dirname } from 'node:path'
import type { Disk, DiskFile } from './disk.ts'

/** A disk in memory that tells apart what was written and what would survive, and that can die at any operation. */
export type SimulatedDisk = Disk & {
  /** Operations so far. */
  readonly steps: number
  /** From this operation on nothing happens any more; the operation itself happens, does not, or happens in part. */
  dieAt(step: number): void
  /** What the next process finds. `power` also loses whatever was not synced, or any later part of it. */
  restart(how: 'process' | 'power'): SimulatedDisk
  /** What is in the file now, if it is there. */
  peek(path: string): string | undefined
}

/** Thrown by a disk that died: the process that used it is gone. */
export class DiskDied extends Error {
  override readonly name = 'DiskDied'
}

type Write = { at: number; bytes: Buffer } | { cutTo: number }
type Inode = { synced: Buffer; unsynced: Write[] }
type Entry = { path: string; inode: Inode | undefined }
type State = { names: Map<string, Inode>; durableNames: Map<string, Inode>; unsyncedNames: Entry[] }

/** The same seed always gives the same disk. */
export function simulatedDisk(seed: number): SimulatedDisk {
  return diskOver({ names: new Map(), durableNames: new Map(), unsyncedNames: [] }, randomFrom(seed))
}

function diskOver(state: State, random: () => number): SimulatedDisk {
  let steps = 0
  let deathStep = Number.POSITIVE_INFINITY

  // Each operation is one step. `part` is how much of it happens when it is the last: 0 nothing, 1 all.
  const step = async <T>(act: (part: number) => T): Promise<T> => {
    await Promise.resolve()
    steps += 1
    if (steps > deathStep) throw new DiskDied()
    if (steps < deathStep) return act(1)
    const luck = random()
    if (luck > 0.3) act(luck > 0.6 ? 1 : random())
    throw new DiskDied()
  }

  const setName = (path: string, inode: Inode | undefined) => {
    if (inode) state.names.set(path, inode)
    else state.names.delete(path)
    state.unsyncedNames.push({ path, inode })
  }

  const openInode = (path: string, how: 'create' | 'update') => {
    const found = state.names.get(path)
    if (found && how === 'create') found.unsynced.push({ cutTo: 0 })
    const inode = found ?? { synced: Buffer.alloc(0), unsynced: [] }
    if (!found) setName(path, inode)
    return inode
  }

  const fileOver = (inode: Inode): DiskFile => ({
    write: (bytes, at) =>
      step((part) => {
        const kept = Buffer.from(bytes.subarray(0, Math.floor(bytes.length * part)))
        if (kept.length > 0) inode.unsynced.push({ at, bytes: kept })
        return kept.length
      }),
    truncate: (cutTo) => step((part) => void (part === 1 && inode.unsynced.push({ cutTo }))),
    sync: () => step((part) => syncInode(inode, part)),
    close: () => step(() => {}),
  })

  return {
    get steps() {
      return steps
    },
    dieAt: (at) => {
      deathStep = at
    },
    restart: (how) => diskOver(how === 'power' ? cutPower(state, random) : state, random),
    peek: (path) => {
      const inode = state.names.get(path)
      return inode && contentOf(inode).toString('utf8')
    },
    read: (path) => step(() => contentOf(existing(state, path))),
    open: (path, how) => step(() => fileOver(openInode(path, how))),
    rename: (from, to) =>
      step((part) => {
        if (part < 1) return
        const inode = existing(state, from)
        setName(to, inode)
        setName(from, undefined)
      }),
    remove: (path) => step((part) => void (existing(state, path) && part === 1 && setName(path, undefined))),
    removeTree: () => step(() => {}),
    makeDirectory: () => step(() => {}),
    syncDirectory: (path) => step((part) => void (part === 1 && syncNames(state, path))),
    list: (path) => step(() => [...state.names.keys()].filter((name) => dirname(name) === path)),
    kind: (path) => step(() => (state.names.has(path) ? 'file' : 'missing')),
  }
}

/** A small generator of numbers from 0 to 1 whose sequence depends on the seed only. */
export function randomFrom(seed: number): () => number {
  let state = (seed * 2654435761) >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state = (state ^ (state << 5)) >>> 0
    return state / 2 ** 32
  }
}

function existing(state: State, path: string): Inode {
  const inode = state.names.get(path)
  if (!inode) throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' })
  return inode
}

function contentOf(inode: Inode): Buffer {
  return inode.unsynced.reduce(applyWrite, inode.synced)
}

function applyWrite(content: Buffer, write: Write): Buffer {
  if ('cutTo' in write) return Buffer.from(content.subarray(0, write.cutTo))
  const next = Buffer.alloc(Math.max(content.length, write.at + write.bytes.length))
  content.copy(next)
  write.bytes.copy(next, write.at)
  return next
}

function syncInode(inode: Inode, part: number): void {
  const count = Math.floor(inode.unsynced.length * part)
  inode.synced = inode.unsynced.splice(0, count).reduce(applyWrite, inode.synced)
}

function syncNames(state: State, directory: string): void {
  const here = state.unsyncedNames.filter((entry) => dirname(entry.path) === directory)
  for (const { path, inode } of here) setDurable(state, path, inode)
  state.unsyncedNames = state.unsyncedNames.filter((entry) => dirname(entry.path) !== directory)
}

function setDurable(state: State, path: string, inode: Inode | undefined): void {
  if (inode) state.durableNames.set(path, inode)
  else state.durableNames.delete(path)
}

// A file system keeps its order: what survives of the unsynced is a first part of it, the last write perhaps torn.
function cutPower(state: State, random: () => number): State {
  const survivingNames = Math.floor(random() * (state.unsyncedNames.length + 1))
  for (const { path, inode } of state.unsyncedNames.slice(0, survivingNames)) setDurable(state, path, inode)

  for (const inode of new Set(state.durableNames.values())) {
    const survivors = inode.unsynced.slice(0, Math.floor(random() * (inode.unsynced.length + 1)))
    const last = survivors.at(-1)
    if (last && 'bytes' in last && random() < 0.5)
      survivors.push({ at: last.at, bytes: last.bytes }, { cutTo: last.at + Math.floor(random() * last.bytes.length) })
    inode.synced = survivors.reduce(applyWrite, inode.synced)
    inode.unsynced = []
  }
  return { names: new Map(state.durableNames), durableNames: new Map(state.durableNames), unsyncedNames: [] }
}
