import { join } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import { copySession, placeSession, readSessionId } from './archive.ts'
import type { ChainChecker } from './chain.ts'
import type { Fence } from './event-store.ts'
import type { FileSystem } from './file-system.ts'
import type { JsonlEventStore } from './jsonl-event-store.ts'
import { type Repair, repairSession } from './repair.ts'
import type { SessionFile } from './session-file.ts'
import type { SessionIndex } from './session-index.ts'

/** What becomes of sessions that are finished, wanted elsewhere or damaged. Nothing here deletes what was said. */
export type Retention = {
  /** Compresses a session into the archive and takes its file away; its id is free again. Answers the archive's name. */
  archiveSession(sessionId: string, fence?: Fence): Promise<string>
  restoreSession(archive: string): Promise<string>
  /** Archives all but the newest finished sessions. */
  keepSessions(sessionKeep: number): Promise<string[]>
  /** Writes a session to a file that `importSession` takes on any machine; compressed when its name ends in `.gz`. */
  exportSession(sessionId: string, file: string): Promise<void>
  importSession(file: string): Promise<string>
  /** Makes a damaged session usable again and keeps the file as it was; undefined when nothing is wrong with it. */
  repairSession(sessionId: string): Promise<Repair | undefined>
}

type Parts = {
  fileSystem: FileSystem
  checker: ChainChecker
  jsonl: JsonlEventStore
  index: SessionIndex
  directories: { sessions: string; archive: string; damaged: string }
}

export function openRetention({ fileSystem, checker, jsonl, index, directories }: Parts): Retention {
  /** The file of a session, once every line of it was found to hold. */
  async function checkWhole(session: SessionFile): Promise<{ source: string; size: number; seq: number; sum: string }> {
    const { size, seq, sum = '' } = await session.tail()
    if (size === 0) throw new MatrixError('SESSION_UNKNOWN', `There is no session in ${session.path}.`)
    let end = 0
    for await (const batch of session.readLines({ seq: 0, offset: 0 })) end = batch.end
    return { source: session.path, size: end, seq, sum }
  }

  async function archiveFile(sessionId: string, session: SessionFile): Promise<string> {
    const { source, size, seq, sum } = await checkWhole(session)
    await index.catchUp()
    // By its content: the same archive when it is made again after a crash, another one in the id's next life.
    const name = `${sessionId}-${seq}-${sum.slice(0, 8)}.jsonl.gz`
    await fileSystem.makeDirectory(directories.archive)
    await copySession(fileSystem, { source, size }, { target: join(directories.archive, name), compress: true })
    await fileSystem.remove(source)
    await fileSystem.syncDirectory(directories.sessions)
    index.setArchive(sessionId, name)
    return name
  }

  /** Puts a session's file in place, unless somebody is about to write one there. */
  async function place(source: string): Promise<string> {
    const sessionId = await readSessionId(fileSystem, source)
    return jsonl.withoutOwner(sessionId, undefined, () =>
      placeSession(fileSystem, source, directories.sessions, checker),
    )
  }

  /** What was kept of an earlier repair stays. */
  async function freeName(path: string): Promise<string> {
    let name = `${path}.jsonl`
    for (let count = 2; await fileSystem.stat(name); count += 1) name = `${path}-${count}.jsonl`
    return name
  }

  const retention: Retention = {
    archiveSession: (sessionId, fence) =>
      jsonl.withoutOwner(sessionId, fence, (session) => archiveFile(sessionId, session)),
    async restoreSession(archive) {
      const source = join(directories.archive, archive)
      const sessionId = await place(source)
      index.clearArchive(sessionId, archive)
      await fileSystem.remove(source)
      await fileSystem.syncDirectory(directories.archive)
      return sessionId
    },
    async keepSessions(sessionKeep) {
      await index.catchUp()
      const finished = index.sessions().filter(({ status, archive }) => status === 'done' && !archive)
      finished.sort((left, right) => (right.lastAt ?? '').localeCompare(left.lastAt ?? ''))
      const archived: string[] = []
      for (const { sessionId } of finished.slice(sessionKeep)) archived.push(await retention.archiveSession(sessionId))
      return archived
    },
    async exportSession(sessionId, file) {
      const whole = await checkWhole(jsonl.session(sessionId))
      await copySession(fileSystem, whole, { target: file, compress: file.endsWith('.gz') })
    },
    async importSession(file) {
      const sessionId = await place(file)
      index.notice(sessionId)
      return sessionId
    },
    repairSession: (sessionId) =>
      jsonl.withoutOwner(sessionId, undefined, async () => {
        await fileSystem.makeDirectory(directories.damaged)
        const kept = await freeName(join(directories.damaged, sessionId))
        const repair = await repairSession(fileSystem, kept, () => jsonl.reopen(sessionId))
        index.forget(sessionId)
        index.notice(sessionId)
        return repair
      }),
  }
  return retention
}
