import { join } from 'node:path'
import { type DurableEvent, MatrixError } from '@matrix/protocol'
import { openChainChecker } from './chain.ts'
import { type Clock, systemClock } from './clock.ts'
import type { EventStore, Fence, Hint } from './event-store.ts'
import { type FileSystem, nodeFileSystem } from './file-system.ts'
import { forkEvents } from './fork.ts'
import { openSessionFile, type SessionFile } from './session-file.ts'
import { type Durability, storageError } from './session-writer.ts'
import { isKnown } from './stored-event.ts'
import { openSyncLimit } from './sync-limit.ts'
import type { Tail } from './tail.ts'

export type JsonlOptions = {
  fileSystem?: FileSystem
  clock?: Clock
  durability?: Durability
  /** Called when the disk loses what it had accepted. By default the process ends with code 74: nothing in memory can be trusted. */
  onFatal?(error: MatrixError): void
}

export type JsonlEventStore = EventStore & {
  session(sessionId: string): SessionFile
  /** Forgets what is known of the file, because it was replaced. */
  reopen(sessionId: string): SessionFile
  /** Runs work that replaces or removes a session's file, when nobody but the holder of this fence owns it. */
  withoutOwner<Result>(
    sessionId: string,
    fence: Fence | undefined,
    work: (file: SessionFile) => Promise<Result>,
  ): Promise<Result>
}

/** Keeps each session as one file of JSON lines in `directory`. One process at a time: see `lockDirectory`. */
export async function openJsonlEventStore(directory: string, options: JsonlOptions = {}): Promise<JsonlEventStore> {
  const { fileSystem = nodeFileSystem, clock = systemClock, durability = 'durable' } = options
  const { onFatal = () => process.exit(74) } = options
  const checker = openChainChecker()
  const limit = openSyncLimit(8)
  const sessions = new Map<string, SessionFile>()
  const fences = new Map<string, Fence>()
  const moving = new Map<string, Promise<unknown>>()
  const copying = new Set<string>()
  const listeners = new Set<(hint: Hint) => void>()
  let stopped: MatrixError | undefined

  await fileSystem.makeDirectory(directory).catch((error) => {
    throw storageError(`Cannot use ${directory}`, error)
  })

  function session(sessionId: string): SessionFile {
    if (stopped) throw stopped
    const known = sessions.get(sessionId)
    if (known) return known
    checkSessionId(sessionId)
    const opened = openSessionFile({
      ...{ fileSystem, clock, durability, limit, checker, directory, sessionId },
      path: join(directory, `${sessionId}.jsonl`),
      onFatal: stop,
      onWritten: (tail: Tail) => {
        for (const listener of listeners) listener({ sessionId, seq: tail.seq })
      },
    })
    sessions.set(sessionId, opened)
    return opened
  }

  function stop(error: MatrixError): void {
    stopped = error
    onFatal(error)
  }

  function checkFence(sessionId: string, fence: Fence): void {
    const current = fences.get(sessionId)
    if (current && current.owner === fence.owner && current.epoch === fence.epoch) return
    throw new MatrixError('SESSION_FENCED', `${fence.owner} does not own session ${sessionId} (any more).`)
  }

  const store: JsonlEventStore = {
    session,
    reopen(sessionId) {
      sessions.delete(sessionId)
      return session(sessionId)
    },
    async withoutOwner(sessionId, fence, work) {
      const file = session(sessionId)
      if (fence) checkFence(sessionId, fence)
      else if (fences.get(sessionId)?.owner)
        throw new MatrixError('SESSION_FENCED', `Session ${sessionId} is in use by ${fences.get(sessionId)?.owner}.`)
      fences.set(sessionId, { owner: '', epoch: (fences.get(sessionId)?.epoch ?? 0) + 1 })
      const moved = file
        .close()
        .then(() => work(file))
        .finally(() => {
          moving.delete(sessionId)
          sessions.delete(sessionId)
        })
      moving.set(
        sessionId,
        moved.catch(() => undefined),
      )
      return moved
    },
    async claim(sessionId, owner) {
      await moving.get(sessionId)
      const file = session(sessionId)
      await file.idle()
      await file.check()
      const fence = { owner, epoch: (fences.get(sessionId)?.epoch ?? 0) + 1 }
      fences.set(sessionId, fence)
      return fence
    },
    async release(sessionId, fence) {
      checkFence(sessionId, fence)
      // Kept with no owner rather than forgotten, so that an epoch is never used twice.
      fences.set(sessionId, { owner: '', epoch: fence.epoch })
      await session(sessionId).close()
    },
    async append(sessionId, fence, events) {
      const file = session(sessionId)
      checkFence(sessionId, fence)
      for (const event of events) checkDurable(event)
      if (events.length === 0) return Math.max(0, (await file.tail()).seq)
      return file.append(events)
    },
    async *read(sessionId, { after = 0, limit: count = Number.POSITIVE_INFINITY } = {}) {
      yield* session(sessionId).read({ after, limit: count })
    },
    readActive: async (sessionId, options) => session(sessionId).readActive(options),
    async lastSeq(sessionId) {
      return Math.max(0, (await session(sessionId).tail()).seq)
    },
    hasMessage: async (sessionId, messageId) => session(sessionId).hasMessage(messageId),
    async copySessionFrom(source, target, fence, marker, { upTo } = {}) {
      if (copying.has(target)) throw begun(target)
      copying.add(target)
      try {
        const last = await store.lastSeq(source)
        const sourceSeq = upTo ?? last
        if (!Number.isInteger(sourceSeq) || sourceSeq > last || (upTo !== undefined && upTo < 1))
          throw new MatrixError('EVENT_UNKNOWN', `Session ${source} has no event ${upTo}; its last one is ${last}.`)
        const present = await store.readActive(target)
        if (present.some(({ type }) => type !== 'message')) throw begun(target)
        const active = await store.readActive(source, { upTo: sourceSeq })
        return await store.append(target, fence, forkEvents(active, { sourceTaskId: source, sourceSeq }, marker))
      } finally {
        copying.delete(target)
      }
    },
    async listSessions() {
      const names = await fileSystem.list(directory)
      return names.flatMap((name) => /^([A-Za-z0-9][A-Za-z0-9_-]*)\.jsonl$/.exec(name)?.[1] ?? []).sort()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      await Promise.all([...sessions.values()].map((file) => file.close()))
      stopped ??= new MatrixError('STORE_CLOSED', `The event store in ${directory} is closed.`)
      await checker.close()
    },
  }
  return store
}

function begun(sessionId: string): MatrixError {
  return new MatrixError('SESSION_EXISTS', `Session ${sessionId} has begun; only an unstarted one can become a fork.`)
}

/** The types keep TypeScript from it; JavaScript would store what the next version cannot read. */
function checkDurable(event: DurableEvent): void {
  const { type, taskId, ts } = event
  const shown = JSON.stringify(type)?.slice(0, 100)
  if (!isKnown(event))
    throw new MatrixError('EVENT_INVALID', `An event of type ${shown} is not durable, so it was not stored.`, {
      hint: 'Append only events of DurableEvent; show those of LiveEvent while they happen.',
    })
  if (typeof taskId !== 'string' || typeof ts !== 'string')
    throw new MatrixError('EVENT_INVALID', `The event ${shown} has no "taskId" or no "ts", so it was not stored.`, {
      hint: 'Give every event the task it belongs to and an ISO time.',
    })
}

function checkSessionId(sessionId: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(sessionId))
    throw new MatrixError('SESSION_ID_INVALID', `Not a session id: ${JSON.stringify(sessionId)}`)
}
