import type { DurableEvent } from '@matrix/protocol'
import type { Clock } from './clock.ts'
import { type Cost, type CostFilter, type CostKey, readCosts } from './cost.ts'
import { type Damage, findDamage } from './damage.ts'
import { hasErrorCode } from './file-system.ts'
import { openIndexDatabase, removeIndexDatabase } from './index-database.ts'
import { type IndexTables, openIndexTables, type SessionRow } from './index-tables.ts'
import type { JsonlEventStore } from './jsonl-event-store.ts'
import type { Header } from './line.ts'
import type { ResumeState } from './resume-state.ts'
import { type EventPlace, type SearchFilter, type SearchResult, search } from './search.ts'
import type { LineBatch } from './session-reader.ts'
import type { Database } from './sqlite.ts'

/** What the index knows of a session without opening its file. */
export type SessionSummary = {
  sessionId: string
  status: ResumeState | 'corrupt'
  damage: Damage | undefined
  lastSeq: number
  bytes: number
  firstAt: string | undefined
  lastAt: string | undefined
  /** The archive that holds the session, once it has been put away. */
  archive: string | undefined
}

export type IndexProgress = { phase: 'sessions' | 'search'; done: number; total: number }

/** Derived from the sessions and never the truth: it may be deleted at any time, and is made again. */
export type SessionIndex = {
  sessions(): SessionSummary[]
  findSession(sessionId: string): SessionSummary | undefined
  costs(by: CostKey[], filter?: CostFilter): Cost[]
  /** Newest first. `complete` is false while older sessions are still being read in. */
  search(text: string, filter?: SearchFilter): Promise<SearchResult>
  /** Waits until everything that was stored by now is known and can be searched. */
  catchUp(): Promise<void>
  /** Has a session read in that came here other than by an append. */
  notice(sessionId: string): void
  setArchive(sessionId: string, archive: string): void
  clearArchive(sessionId: string, archive: string): void
  forget(sessionId: string): void
  close(): Promise<void>
}

export type IndexOptions = {
  clock: Clock
  /** The size of a session's file, if there is one. */
  sizeOf(sessionId: string): Promise<number | undefined>
  archives: {
    list(): Promise<string[]>
    readLines(archive: string): AsyncIterable<LineBatch>
    readEvents(archive: string, seqs: Set<number>): Promise<Map<number, DurableEvent>>
  }
  relaxed?: boolean
  onProgress?: ((progress: IndexProgress) => void) | undefined
}

// Late enough that a burst of appends is over, soon enough that nobody notices.
const LATE_MS = 300
const AGAIN_MS = 5000
const SLICE_EVENTS = 32
const COMMIT_EVENTS = 16_384

/** Opens the index of a store, compares it with the files and brings it up to date. Searching follows in the background. */
export async function openSessionIndex(
  file: string,
  store: JsonlEventStore,
  options: IndexOptions,
): Promise<SessionIndex> {
  const { clock, sizeOf, archives, onProgress = () => undefined } = options
  const dirty = new Set<string>()
  let database: Database
  let tables: IndexTables
  let working: Promise<void> | undefined
  let cancelTimer: (() => void) | undefined
  let grown = false
  let uncommitted = 0
  let hurried = false
  let closed = false
  let goOn: () => void = () => undefined

  await load()
  const unsubscribe = store.subscribe(({ sessionId }) => {
    grown = true
    dirty.add(sessionId)
    schedule()
  })
  schedule()

  async function load(): Promise<void> {
    database = await openIndexDatabase(file)
    tables = openIndexTables(database)
    await compare()
  }

  /** Reads in whatever the files have and the index has not, and forgets what is gone. */
  async function compare(): Promise<void> {
    const names = await store.listSessions()
    const known = new Map(tables.rows().map((row) => [row.name, row]))
    const sizes = await Promise.all(names.map(sizeOf))
    const stale = names.filter((name, index) => known.get(name)?.size !== sizes[index] || known.get(name)?.damage)
    let done = 0
    const waiting = stale.values()
    // A few at once: while one waits for the disk, another is parsed.
    const readers = Array.from({ length: 4 }, async () => {
      for (const name of waiting) {
        await readIn(name)
        done += 1
        onProgress({ phase: 'sessions', done, total: stale.length })
      }
    })
    await Promise.all(readers)
    const archived = await archives.list()
    for (const archive of archived) if (!known.has(archive)) await readInArchive(archive)
    const present = new Set([...names, ...archived])
    for (const { name } of known.values()) if (!present.has(name)) tables.forget(name)
    for (const row of tables.rows()) if (row.searched < row.size) dirty.add(row.name)
  }

  async function readInArchive(archive: string): Promise<void> {
    let row: SessionRow | undefined
    for await (const batch of archives.readLines(archive)) {
      const header = batch.lines[0] as unknown as Partial<Header>
      row ??= tables.ensure(archive, { sessionId: header.sessionId ?? archive, archive })
      row = tables.addLines(row, batch)
    }
  }

  async function readIn(name: string): Promise<void> {
    try {
      let row = tables.ensure(name)
      const session = store.session(name)
      const { size, seq } = await session.tail()
      // Relaxed, a power cut may take what was acknowledged; otherwise nothing may.
      if (size < row.size && !options.relaxed) throw session.quarantine(shortened(session.path, seq, row.seq))
      if (size < row.size || (row.size > 0 && (await session.sumBefore(row.size)) !== row.sum)) {
        // Not the file that was read before: somebody restored or replaced it.
        tables.forget(name)
        row = tables.ensure(name)
      }
      for await (const batch of session.readLines({ seq: row.seq + 1, offset: row.size }))
        row = tables.addLines(row, batch)
      // What was wrong with it has been put right.
      if (row.damage) tables.addLines(row, { lines: [], starts: [], end: row.size })
    } catch (error) {
      const damage = findDamage(error)
      if (!damage) throw error
      tables.setDamage(name, damage)
    }
  }

  /** The slow half: words. In small steps, so that appends and requests come first. */
  async function readText(name: string): Promise<void> {
    let row = tables.find(name)
    if (!row || row.damage || row.searched >= row.size) return
    for await (const batch of unsearched(row)) {
      for (let at = 0; at < batch.lines.length; at += SLICE_EVENTS) {
        if (closed) return
        tables.begin()
        row = tables.addText(row, batch, { from: at, to: Math.min(at + SLICE_EVENTS, batch.lines.length) })
        uncommitted += SLICE_EVENTS
        if (uncommitted > COMMIT_EVENTS) commit()
        await breathe()
      }
    }
  }

  function unsearched({ name, archive, searched_seq, searched }: SessionRow): AsyncIterable<LineBatch> {
    return archive
      ? archives.readLines(archive)
      : store.session(name).readLines({ seq: searched_seq + 1, offset: searched })
  }

  function commit(): void {
    tables.commit()
    uncommitted = 0
  }

  async function breathe(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    if (!grown || hurried || closed) return
    grown = false
    // The clock does not keep a program alive, so whoever closes the index must not have to wait for it.
    await new Promise<void>((resolve) => {
      goOn = resolve
      clock.after(10, resolve)
    })
  }

  function schedule(delayMs = LATE_MS): void {
    if (cancelTimer || working || closed || dirty.size === 0) return
    cancelTimer = clock.after(delayMs, () => {
      cancelTimer = undefined
      work().then(
        () => schedule(),
        () => schedule(AGAIN_MS),
      )
    })
  }

  function work(): Promise<void> {
    working ??= drain()
      .catch(recover)
      .finally(() => {
        working = undefined
      })
    return working
  }

  async function drain(): Promise<void> {
    let done = 0
    for (const name of dirty) {
      if (closed) return
      dirty.delete(name)
      await (tables.find(name)?.archive ? Promise.resolve() : readIn(name))
        .then(() => readText(name))
        .catch((error) => {
          dirty.add(name)
          throw error
        })
      done += 1
      onProgress({ phase: 'search', done, total: done + dirty.size })
    }
    commit()
  }

  // The sessions are safe whatever happens here. A damaged index is made anew; a full disk is waited out.
  async function recover(error: unknown): Promise<void> {
    if (closed) return
    if (!hasErrorCode(error, 'SQLITE_CORRUPT', 'SQLITE_NOTADB', 'SQLITE_CORRUPT_VTAB')) throw error
    database.close()
    await removeIndexDatabase(file)
    await load()
  }

  /** An archive is read from its start, so once for all that is wanted from it. */
  async function fetch(places: EventPlace[]): Promise<(DurableEvent | undefined)[]> {
    const opened = new Map<string, Promise<Map<number, DurableEvent>>>()
    for (const archive of new Set(places.flatMap((place) => place.archive ?? []))) {
      const seqs = places.flatMap((place) => (place.archive === archive ? place.seq : []))
      opened.set(archive, archives.readEvents(archive, new Set(seqs)))
    }
    return Promise.all(
      places.map(async (place) =>
        place.archive
          ? (await opened.get(place.archive))?.get(place.seq)
          : store.session(place.sessionId).readAt(place),
      ),
    )
  }

  return {
    sessions: () => tables.rows().map(summary),
    findSession(sessionId) {
      const row = tables.find(sessionId)
      return row && summary(row)
    },
    costs: (by, filter) => readCosts(database, by, filter),
    async search(text, filter = {}) {
      return { ...(await search(database, text, filter, fetch)), complete: dirty.size === 0 && !working }
    },
    async catchUp() {
      hurried = true
      try {
        do await work()
        while (dirty.size > 0)
      } finally {
        hurried = false
      }
    },
    notice(sessionId) {
      dirty.add(sessionId)
      schedule()
    },
    setArchive: (sessionId, archive) => tables.setArchive(sessionId, archive),
    clearArchive: (sessionId, archive) => tables.clearArchive(sessionId, archive),
    forget: (sessionId) => tables.forget(sessionId),
    async close() {
      closed = true
      unsubscribe()
      cancelTimer?.()
      goOn()
      await working?.catch(() => undefined)
      database.close()
    },
  }
}

function summary(row: SessionRow): SessionSummary {
  return {
    sessionId: row.session_id,
    status: row.status,
    damage: row.damage ? (JSON.parse(row.damage) as Damage) : undefined,
    lastSeq: Math.max(0, row.seq),
    bytes: row.size,
    firstAt: row.first_at ?? undefined,
    lastAt: row.last_at ?? undefined,
    archive: row.archive ?? undefined,
  }
}

function shortened(file: string, seq: number, known: number): Damage {
  const message = `the file ends after event ${Math.max(0, seq)}, but ${known} were acknowledged`
  return { kind: 'shortened', file, line: seq + 2, message }
}
