import type { DurableEvent, MatrixError } from '@matrix/protocol'
import { type ActiveStart, findActiveStart } from './active.ts'
import { carryEvent, emptyCarry } from './carry.ts'
import type { ChainChecker } from './chain.ts'
import { corrupt, type Damage, findDamage, readSumBefore } from './damage.ts'
import type { UpTo } from './event-store.ts'
import type { OpenFile } from './file-system.ts'
import { rewindEvents } from './fork.ts'
import { readVersion } from './header.ts'
import { FORMAT_VERSION, type Kept } from './line.ts'
import { migrateSession } from './migration.ts'
import {
  findLines,
  findSeq,
  type LineBatch,
  type ParseSpan,
  parseLines,
  parseStored,
  readVerified,
  type SeqPlace,
} from './session-reader.ts'
import { openSessionWriter, storageError, type WriterOptions, type WriteState } from './session-writer.ts'
import { isKnown, type StoredEvent } from './stored-event.ts'
import { emptyTail, findTail, type Tail } from './tail.ts'

export type SessionFileOptions = WriterOptions & {
  sessionId: string
  directory: string
  path: string
  checker: ChainChecker
  onWritten(tail: Tail): void
}

/** One session's file: where it ends, what may be read of it, and its only writer. */
export type SessionFile = {
  path: string
  /** The end of what is durable. The first call cuts off what a crash left half-written, and syncs the rest. */
  tail(): Promise<Tail>
  /** Makes sure that what an agent would resume from holds; a damaged session throws and takes no appends. */
  check(): Promise<void>
  append(events: DurableEvent[]): Promise<number>
  read(options: { after: number; limit: number }): AsyncGenerator<StoredEvent[]>
  readLines(from: SeqPlace): AsyncGenerator<LineBatch>
  /** The same for who does not need everything that the lines hold. */
  readAs<Batch extends { seq: number | undefined }>(parse: ParseSpan<Batch>, from: SeqPlace): AsyncGenerator<Batch>
  readActive(options?: UpTo): Promise<DurableEvent[]>
  /** Whether this message is in the session. The first question looks through the file; from then on the ids are known. */
  hasMessage(messageId: string): Promise<boolean>
  /** One event by where its line is, checked like any other. */
  readAt(place: SeqPlace & { length: number }): Promise<DurableEvent | undefined>
  /** The sum of the line that ends here: two files with the same sum are the same up to it. */
  sumBefore(offset: number): Promise<string>
  /** Takes no appends any more; the answer is the error that says why. */
  quarantine(damage: Damage): MatrixError
  idle(): Promise<void>
  close(): Promise<void>
}

export function openSessionFile(options: SessionFileOptions): SessionFile {
  const { fileSystem, directory, path, sessionId, checker } = options
  let end: Tail | undefined
  let settling: Promise<Tail> | undefined
  let damaged: MatrixError | undefined
  let prepared: WriteState | undefined
  let messageIds: Promise<Set<string>> | undefined

  const onWritten = (tail: Tail) => {
    end = tail
    options.onWritten(tail)
  }
  const writer = openSessionWriter({ path, directory, sessionId }, { ...options, load: prepare, onWritten })

  async function tail(): Promise<Tail> {
    if (end) return end
    settling ??= quarantining(settle)
      .then((found) => {
        end = found
        return found
      })
      .finally(() => {
        settling = undefined
      })
    return settling
  }

  async function settle(): Promise<Tail> {
    if (!(await fileSystem.stat(path).catch(unopened))) return emptyTail
    const version = await withFile('read', (file) => readVersion(file, path, sessionId))
    if (version !== undefined && version < FORMAT_VERSION) await migrateSession(options, version)

    return withFile('write', async (file) => {
      const found = await findTail(file, path, checker)
      if ((await file.size()) > found.size) await file.truncate(found.size)
      await makeDurable(file)
      return found
    })
  }

  // What a killed process wrote may be in memory only. Whoever acts on it must not lose it to a power cut afterwards.
  async function makeDurable(file: OpenFile): Promise<void> {
    try {
      await file.sync()
      await fileSystem.syncDirectory(directory)
    } catch (error) {
      const failure = storageError(`The disk failed under ${path}`, error)
      options.onFatal(failure)
      throw failure
    }
  }

  async function prepare(): Promise<WriteState> {
    // Whatever was written since it was prepared has moved the end of the file.
    const state = prepared && prepared.tail === end ? prepared : await load()
    prepared = undefined
    return state
  }

  /** What the writer continues from, read back from the file rather than remembered. */
  async function load(): Promise<WriteState> {
    if (damaged) throw damaged
    const found = await tail()
    const carry = emptyCarry()
    if (found.size === 0) return { tail: found, carry }

    await withFile('read', async (file) => {
      const start = await findActiveStart(file, found.size)
      for (const kept of start.keeps) carryEvent(carry, await readKept(file, kept), kept)
      for await (const { lines, starts } of verified(file, parseLines, start, found.size))
        for (const [index, { seq, event }] of lines.entries())
          if (event) carryEvent(carry, event, [seq, starts[index] as number])
    })
    return { tail: found, carry }
  }

  function verified<Batch extends { seq: number | undefined }>(
    file: OpenFile,
    parse: ParseSpan<Batch>,
    { seq, offset }: SeqPlace,
    to: number,
  ): AsyncGenerator<Batch> {
    return quarantined(readVerified(file, path, { checker, parse }, { seq, offset, to }))
  }

  async function readKept(file: OpenFile, [seq, offset]: Kept): Promise<DurableEvent> {
    const { size } = await tail()
    for await (const { lines } of verified(file, parseLines, { seq, offset }, size)) if (lines[0]) return lines[0].event
    throw missing(seq)
  }

  function missing(seq: number): MatrixError {
    const message = `event ${seq} is still needed and missing`
    return corrupt({ kind: 'missing', file: path, line: seq + 1, message })
  }

  async function findMessageIds(): Promise<Set<string>> {
    const { size } = await tail()
    const ids = new Set<string>()
    if (size === 0) return ids
    await withFile('read', async (file) => {
      for await (const { event } of findLines(file, size, Buffer.from('"type":"message"')))
        if (event?.type === 'message') ids.add(event.message.id)
    })
    return ids
  }

  /** A damaged session is read as far as it holds; the reader comes upon the damage by itself. */
  async function readableSize(): Promise<number> {
    try {
      return (await tail()).size
    } catch (error) {
      const found = findDamage(error) && (await fileSystem.stat(path))
      if (!found) throw error
      return found.size
    }
  }

  async function* readAs<Batch extends { seq: number | undefined }>(
    parse: ParseSpan<Batch>,
    from: SeqPlace,
  ): AsyncGenerator<Batch> {
    const size = await readableSize()
    if (from.offset >= size) return
    const file = await fileSystem.open(path, 'read').catch(unopened)
    try {
      yield* verified(file, parse, from, size)
    } finally {
      await file.close()
    }
  }

  async function* read({ after, limit }: { after: number; limit: number }): AsyncGenerator<StoredEvent[]> {
    const size = await readableSize()
    if (size === 0 || limit <= 0) return
    const from = after <= 0 ? { seq: 0, offset: 0 } : await withFile('read', (file) => findSeq(file, size, after + 1))
    let left = limit
    for await (const { events } of readAs(parseStored, from)) {
      const wanted = events.length > left ? events.slice(0, left) : events
      left -= wanted.length
      if (wanted.length > 0) yield wanted
      if (left === 0) return
    }
  }

  async function readActive({ upTo }: UpTo = {}): Promise<DurableEvent[]> {
    const { size, seq: lastSeq } = await tail()
    const last = Math.min(upTo ?? lastSeq, lastSeq)
    if (last <= 0) return []
    return withFile('read', async (file) => {
      const { offset: end } = last < lastSeq ? await findSeq(file, size, last + 1) : { offset: size }
      const start = await findActiveStart(file, end)
      const events = await readBefore(file, start)
      let reached: number | undefined
      for await (const { lines, seq } of verified(file, parseLines, start, end)) {
        for (const { event } of lines) if (event && isKnown(event)) events.push(event)
        reached = seq
      }
      // A search that damage has led astray ends somewhere else.
      if (reached !== last) throw missing(last)
      return events
    })
  }

  /** What the active part holds beyond the lines from its start on. */
  async function readBefore(file: OpenFile, { seq, keeps, rewind }: ActiveStart): Promise<DurableEvent[]> {
    const kept = await Promise.all(keeps.map((each) => readKept(file, each)))
    if (!rewind) return kept
    const upTo = Math.min(rewind.upTo, seq - 1)
    // Configuration and identity from before then are part of what was active then; messages that waited are not.
    const since = kept.filter((event, index) => event.type === 'message' || (keeps[index]?.[0] ?? 0) > upTo)
    return rewindEvents(await readActive({ upTo }), since, rewind)
  }

  async function* quarantined<Batch>(batches: AsyncGenerator<Batch>): AsyncGenerator<Batch> {
    try {
      yield* batches
    } catch (error) {
      if (findDamage(error)) damaged = error as MatrixError
      throw error
    }
  }

  async function quarantining<Result>(work: () => Promise<Result>): Promise<Result> {
    return work().catch((error) => {
      if (findDamage(error)) damaged = error
      throw error
    })
  }

  async function withFile<Result>(mode: 'read' | 'write', work: (file: OpenFile) => Promise<Result>): Promise<Result> {
    const file = await fileSystem.open(path, mode).catch(unopened)
    try {
      return await work(file)
    } finally {
      await file.close()
    }
  }

  function unopened(error: unknown): never {
    throw storageError(`Cannot open ${path}`, error)
  }

  return {
    path,
    tail,
    async check() {
      prepared = await load()
    },
    async append(events) {
      if (damaged) throw damaged
      const seq = await writer.append(events)
      const known = await messageIds?.catch(() => undefined)
      if (known) for (const event of events) if (event.type === 'message') known.add(event.message.id)
      return seq
    },
    read,
    readLines: (from) => readAs(parseLines, from),
    readAs,
    readActive,
    async hasMessage(messageId) {
      messageIds ??= findMessageIds().catch((error) => {
        messageIds = undefined
        throw error
      })
      return (await messageIds).has(messageId)
    },
    async readAt({ seq, offset, length }) {
      return withFile('read', async (file) => {
        for await (const { lines } of verified(file, parseLines, { seq, offset }, offset + length + 1))
          return lines[0]?.event
        return undefined
      })
    },
    sumBefore: (offset) => withFile('read', (file) => readSumBefore(file, offset)),
    quarantine(damage) {
      damaged = corrupt(damage)
      return damaged
    },
    idle: writer.idle,
    async close() {
      await writer.close()
    },
  }
}
