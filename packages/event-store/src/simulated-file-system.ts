import { dirname } from 'node:path'
import type { Bytes } from './bytes.ts'
import type { FileSystem, OpenFile, OpenMode } from './file-system.ts'
import { type Random, seededRandom } from './random.ts'

export type Operation = {
  name: 'open' | 'read' | 'write' | 'truncate' | 'sync' | 'syncDirectory' | 'rename' | 'remove' | 'stat' | 'list'
  path: string
  /** Counted from 1 over the life of the disk. */
  step: number
}

/** What can be made to go wrong with one operation. `short` takes a part of a write and reports success. */
export type Fault = 'ENOSPC' | 'EIO' | 'EACCES' | 'EMFILE' | 'short'

export type SimulatedDisk = {
  /** The disk as one process sees it. After a crash nothing that process started ever ends; the next one boots anew. */
  boot(): FileSystem
  steps(): number
  /** At this step the process dies: what was on its way is done, half done or not done. `power` also loses what was not synced. */
  crashAt(step: number, kind: 'kill' | 'power', onCrash: () => void): void
  crashNow(kind: 'kill' | 'power'): void
  /** Asked before every operation; an answer makes it fail. */
  failWhen(decide: (operation: Operation) => Fault | undefined): void
  /** How many bytes fit; beyond it writes are short and then fail with ENOSPC. */
  setCapacity(bytes: number): void
  readNow(path: string): Bytes | undefined
  writeNow(path: string, bytes: Uint8Array): void
  names(): string[]
}

/**
 * A disk in memory that forgets like a real one: a write is in the cache until its file is synced, a name until its
 * directory is. A failed sync forgets for good, and the next one says that all is well.
 */
export function simulateDisk(seed: number): SimulatedDisk {
  const random = seededRandom(seed)
  const names = new Map<string, Inode>()
  let lasting = new Map<string, Inode>()
  let nameChanges: NameChange[] = []
  let inFlight = new Set<InFlight>()
  let life = 1
  let step = 0
  let crash: { at: number; kind: 'kill' | 'power'; onCrash: () => void } | undefined
  let decide: (operation: Operation) => Fault | undefined = () => undefined
  let capacity = Number.POSITIVE_INFINITY

  /** Runs one operation of the process that is alive now. For a dead one it never ends, as for a real one. */
  function perform<Result>(
    bornIn: number,
    name: Operation['name'],
    path: string,
    work: { apply(): Result; tear?(): void; fail?(fault: Fault): Result | undefined; isSlow?: boolean; begin?(): void },
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (bornIn !== life) return
      step += 1
      const fault = decide({ name, path, step })
      const running: InFlight = { apply: fault ? () => undefined : work.apply, tear: fault ? undefined : work.tear }
      inFlight.add(running)
      if (!fault) work.begin?.()
      if (crash && step >= crash.at) {
        die(crash.kind)
        return
      }
      // What waits for the disk takes far longer than anything else, and a lot can happen meanwhile.
      let ticks = random.int(work.isSlow ? 40 : 4)
      const finish = () => {
        if (bornIn !== life) return
        ticks -= 1
        if (ticks > 0) {
          queueMicrotask(finish)
          return
        }
        inFlight.delete(running)
        try {
          const failed = fault && work.fail?.(fault)
          if (fault && failed === undefined) throw systemError(fault, name, path)
          resolve(fault ? (failed as Result) : work.apply())
        } catch (error) {
          reject(error)
        }
      }
      queueMicrotask(finish)
    })
  }

  function die(kind: 'kill' | 'power'): void {
    const { onCrash } = crash ?? { onCrash: () => undefined }
    crash = undefined
    life += 1
    for (const { apply, tear } of inFlight) {
      const fate = random.int(3)
      try {
        if (fate === 0) apply()
        if (fate === 1) (tear ?? apply)()
      } catch {
        // The process that would have been told is gone.
      }
    }
    inFlight = new Set()
    if (kind === 'power') losePower()
    onCrash()
  }

  function losePower(): void {
    for (const change of nameChanges) if (random.chance(0.5)) change.apply(lasting)
    nameChanges = []
    names.clear()
    for (const [path, inode] of lasting) names.set(path, inode)
    for (const inode of new Set(lasting.values())) inode.losePower(random)
  }

  function changeNames(directories: string[], apply: (map: Map<string, Inode>) => void): void {
    apply(names)
    nameChanges.push({ directories, apply })
  }

  function used(): number {
    return [...new Set(names.values())].reduce((sum, inode) => sum + inode.size(), 0)
  }

  function openInode(bornIn: number, path: string, inode: Inode, mode: OpenMode): OpenFile {
    const through = mode === 'write-through'
    return {
      size: () => perform(bornIn, 'stat', path, { apply: () => inode.size() }),
      read: (target, position) => perform(bornIn, 'read', path, { apply: () => inode.read(target, position) }),
      write(bytes, position) {
        const copy = Buffer.from(bytes)
        const put = (length: number) => inode.change({ position, bytes: copy.subarray(0, length) })
        const room = () => Math.max(0, capacity - used() + Math.max(0, inode.size() - position))
        return perform(bornIn, 'write', path, {
          isSlow: through,
          // Whoever reads meanwhile may see any part of what is not on the disk yet.
          begin: () => through && put(Math.min(random.int(copy.byteLength + 1), room())),
          apply() {
            const length = Math.min(copy.byteLength, room())
            if (length === 0) throw systemError('ENOSPC', 'write', path)
            put(length)
            if (through) inode.sync()
            return length
          },
          tear: () => put(random.int(copy.byteLength + (through ? 1 : 0))),
          fail(fault) {
            // What the kernel had taken when the disk failed is there to be read, until it is forgotten.
            if (through && fault !== 'short') put(random.int(copy.byteLength + 1))
            if (through && fault === 'EIO') inode.forget()
            if (fault !== 'short') return undefined
            const length = random.int(copy.byteLength)
            put(length)
            return length
          },
        })
      },
      truncate: (size) => perform(bornIn, 'truncate', path, { apply: () => inode.change({ size }) }),
      sync: () =>
        perform(bornIn, 'sync', path, {
          isSlow: true,
          apply: () => inode.sync(),
          fail(fault) {
            if (fault === 'EIO') inode.forget()
            return undefined
          },
        }),
      close: async () => undefined,
    }
  }

  const boot = (born: number): FileSystem => ({
    open: (path, mode) =>
      perform(born, 'open', path, {
        apply() {
          const found = names.get(path)
          if (!found && mode === 'read') throw systemError('ENOENT', 'open', path)
          const inode = found ?? openInodeData()
          if (!found) changeNames([dirname(path)], (map) => map.set(path, inode))
          return openInode(born, path, inode, mode)
        },
      }),
    stat: (path) =>
      perform(born, 'stat', path, {
        apply() {
          const found = names.get(path)
          return found && { size: found.size(), modifiedAt: 0 }
        },
      }),
    list: (directory) =>
      perform(born, 'list', directory, {
        apply: () =>
          [...names.keys()].flatMap((path) => (dirname(path) === directory ? path.slice(directory.length + 1) : [])),
      }),
    makeDirectory: async () => undefined,
    syncDirectory: (path) =>
      perform(born, 'syncDirectory', path, {
        apply() {
          const next = new Map(lasting)
          for (const { apply } of nameChanges.filter(({ directories }) => directories.includes(path))) apply(next)
          lasting = next
          nameChanges = nameChanges.filter(({ directories }) => !directories.includes(path))
        },
      }),
    rename: (from, to) =>
      perform(born, 'rename', from, {
        apply() {
          const inode = names.get(from)
          if (!inode) throw systemError('ENOENT', 'rename', from)
          changeNames([dirname(from), dirname(to)], (map) => {
            map.delete(from)
            map.set(to, inode)
          })
        },
      }),
    remove: (path) =>
      perform(born, 'remove', path, {
        apply: () => {
          if (names.has(path)) changeNames([dirname(path)], (map) => map.delete(path))
        },
      }),
    freeBytes: (path) => perform(born, 'stat', path, { apply: () => Math.max(0, capacity - used()) }),
    findNetwork: async () => undefined,
  })

  return {
    boot: () => boot(life),
    steps: () => step,
    crashAt(at, kind, onCrash) {
      crash = { at, kind, onCrash }
    },
    crashNow: die,
    failWhen(next) {
      decide = next
    },
    setCapacity(bytes) {
      capacity = bytes
    },
    readNow: (path) => names.get(path)?.content(),
    writeNow(path, bytes) {
      const inode = openInodeData()
      inode.change({ position: 0, bytes: Buffer.from(bytes) })
      inode.sync()
      names.set(path, inode)
      lasting.set(path, inode)
    },
    names: () => [...names.keys()],
  }
}

type InFlight = { apply(): unknown; tear: (() => void) | undefined }
type NameChange = { directories: string[]; apply(names: Map<string, Inode>): void }
type Change = { position: number; bytes: Buffer } | { size: number }

/** The bytes of one file: as the cache has them, as the disk has them, and what lies between. */
type Inode = ReturnType<typeof openInodeData>

function openInodeData() {
  let cached: Buffer = Buffer.alloc(0)
  let lasting: Buffer = Buffer.alloc(0)
  let changes: Change[] = []

  return {
    size: () => cached.byteLength,
    content: () => Buffer.from(cached),
    read: (target: Uint8Array, position: number) => cached.copy(target, 0, position),
    change(change: Change): void {
      cached = changed(cached, change)
      changes.push(change)
    },
    sync(): void {
      lasting = changes.reduce(changed, lasting)
      changes = []
    },
    forget(): void {
      cached = lasting
      changes = []
    },
    losePower(random: Random): void {
      const kept = random.int(changes.length + 1)
      lasting = changes.slice(0, kept).reduce(changed, lasting)
      const next = changes[kept]
      if (next && 'bytes' in next) lasting = torn(lasting, next, random)
      cached = lasting
      changes = []
    },
  }
}

function changed(content: Buffer, change: Change): Buffer {
  if ('size' in change) {
    const cut = Buffer.alloc(change.size)
    content.copy(cut)
    return cut
  }
  const { position, bytes } = change
  const grown = Buffer.alloc(Math.max(content.byteLength, position + bytes.byteLength))
  content.copy(grown)
  bytes.copy(grown, position)
  return grown
}

// Mostly a prefix arrives. Now and then the file has grown and its last bytes are still zeros.
function torn(content: Buffer, { position, bytes }: { position: number; bytes: Buffer }, random: Random): Buffer {
  const prefix = random.int(bytes.byteLength)
  if (random.chance(0.8)) return changed(content, { position, bytes: bytes.subarray(0, prefix) })
  const holed = Buffer.alloc(bytes.byteLength)
  bytes.copy(holed, 0, 0, prefix)
  return changed(content, { position, bytes: holed })
}

function systemError(code: string, operation: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${operation} '${path}'`), { code })
}
