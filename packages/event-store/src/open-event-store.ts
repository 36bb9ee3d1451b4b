import { join } from 'node:path'
import { listArchives, readArchivedAs, readArchivedEvents, readArchivedLines, readSessionId } from './archive.ts'
import { openChainChecker } from './chain.ts'
import { systemClock } from './clock.ts'
import { lockDirectory } from './directory-lock.ts'
import { parseHeads } from './event-head.ts'
import type { EventStore } from './event-store.ts'
import { nodeFileSystem } from './file-system.ts'
import { type JsonlOptions, openJsonlEventStore } from './jsonl-event-store.ts'
import { openReserve, type Reserve } from './reserve.ts'
import { openRetention, type Retention } from './retention.ts'
import { type IndexProgress, openSessionIndex, type SessionIndex } from './session-index.ts'

export type OpenOptions = JsonlOptions & {
  /** What a second process is told about this one, such as its address. */
  note?: string
  onProgress?(progress: IndexProgress): void
  /** How much room to keep for when the disk is full, such as 64 MiB; see `reserve`. None when left out. */
  reserveBytes?: number
}

/** The sessions of one data directory, and everything that is done with them. */
export type DataStore = EventStore & Retention & { index: SessionIndex; reserve: Reserve }

/** Opens the sessions of a data directory, for this process alone. */
export async function openEventStore(directory: string, options: OpenOptions = {}): Promise<DataStore> {
  const { fileSystem = nodeFileSystem, clock = systemClock } = options
  const directories = {
    sessions: join(directory, 'sessions'),
    archive: join(directory, 'archive'),
    damaged: join(directory, 'damaged'),
  }
  const files = { index: join(directory, 'index.sqlite'), words: join(directory, 'words.sqlite') }
  const lock = await lockDirectory(directory, options)
  const checker = openChainChecker()
  const opened: { close(): Promise<void> }[] = [checker, { close: lock.release }]
  const closeAll = async () => {
    for (const part of opened) await part.close()
  }

  try {
    const jsonl = await openJsonlEventStore(directories.sessions, options)
    opened.unshift(jsonl)
    const index = await openSessionIndex(files, jsonl, {
      clock,
      relaxed: options.durability === 'relaxed',
      onProgress: options.onProgress,
      sizeOf: async (sessionId) => (await fileSystem.stat(join(directories.sessions, `${sessionId}.jsonl`)))?.size,
      archives: {
        list: () => listArchives(fileSystem, directories.archive),
        sessionOf: (archive) => readSessionId(fileSystem, join(directories.archive, archive)),
        readHeads: (archive) => readArchivedAs(fileSystem, join(directories.archive, archive), parseHeads),
        readLines: (archive) => readArchivedLines(fileSystem, join(directories.archive, archive)),
        remove: (archive) => fileSystem.remove(join(directories.archive, archive)),
        readEvents: (archive, seqs) => readArchivedEvents(fileSystem, join(directories.archive, archive), seqs),
      },
    })
    opened.unshift(index)
    const reserve = await openReserve(fileSystem, join(directory, 'reserve'), options.reserveBytes ?? 0)
    const retention = openRetention({ fileSystem, checker, jsonl, index, directories })
    return { ...jsonl, ...retention, index, reserve, close: closeAll }
  } catch (error) {
    await closeAll()
    throw error
  }
}
