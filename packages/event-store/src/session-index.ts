import type { DurableEvent } from '@matrix/protocol'
import type { ResumeState, SessionState } from '@matrix/protocol/session'
import type { Clock } from './clock.ts'
import { type Cost, type CostFilter, type CostKey, readCosts } from './cost.ts'
import { type Damage, findDamage } from './damage.ts'
import { type HeadBatch, headsOf, parseHeads } from './event-head.ts'
import { hasErrorCode } from './file-system.ts'
import { openIndexDatabase, removeDatabase } from './index-database.ts'
import { type IndexTables, openIndexTables, readState, type SessionRow } from './index-tables.ts'
import type { JsonlEventStore } from './jsonl-event-store.ts'
import { type EventPlace, type SearchFilter, type SearchResult, search } from './search.ts'
import type { LineBatch } from './session-reader.ts'
import type { Database } from './sqlite.ts'
import { openWordFeed } from './word-feed.ts'

/** What the index knows of a session without opening its file. */
export type SessionSummary = {
  sessionId: string
  status: ResumeState | 'corrupt'
  /** What the session means, as far as it can be read. */
  state: SessionState
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
  /** What was read in last comes first. While sessions are still being read in, `complete` and `progress` say so. */
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
    sessionOf(archive: string): Promise<string>
    readHeads(archive: string): AsyncIterable<HeadBatch>
    readLines(archive: string): AsyncIterable<LineBatch>
    readEvents(archive: string, seqs: Set<number>): Promise<Map<number, DurableEvent>>
    remove(archive: string): Promise<void>
  }
  relaxed?: boolean
  onProgress?: ((progress: IndexProgress) => void) | undefined
}

// Late enough that a burst of appends is over, soon enough that nobody notices.
const LATE_MS = 300
const AGAIN_MS = 5000
// Where much is appended all the time, reading it in takes a fortieth of the time and no more.
const PAUSES = 39
// Once nobody has written for so long, there is nothing to save by waiting.
const QUIET_MS = 1000

/** Opens the index of a store, compares it with the files and brings it up to date. Searching follows in the background. */
export async function openSessionIndex(
  files: { index: string; words: string },
  store: JsonlEventStore,
  options: IndexOptions,
): Promise<SessionIndex> {
  const { clock, sizeOf, archives, onProgress = () => undefined } = options
  // What was appended, and what a search does not know yet though the summary does.
  const grown = new Set<string>()
  const unsearched = new Set<string>()
  // Those whose file has been compared with what is known of it: from then on nobody but the store writes it.
  const compared = new Set<string>()
  let database: Database
  let tables: IndexTables
  let working: Promise<void> | undefined
  let cancelTimer: (() => void) | undefined
  let grownAt = Number.NEGATIVE_INFINITY
  let aligned = false
  let closed = false

  const words = openWordFeed(files.words, {
    readLines: ({ name, archive }, from) =>
      archive ? archives.readLines(archive) : store.session(name).readLines(from),
    sumBefore: ({ name }, offset) => store.session(name).sumBefore(offset),
  })

  await load()
  const unsubscribe = store.subscribe(({ sessionId }) => {
    grown.add(sessionId)
    grownAt = clock.now()
    schedule()
  })
  schedule()

  async function load(): Promise<void> {
    database = await openIndexDatabase(files.index)
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
    for (const archive of archived) await compareArchive(archive)
    const present = new Set([...names, ...archived])
    for (const { name } of known.values()) if (!present.has(name)) tables.forget(name)
    aligned = false
  }

  async function compareArchive(archive: string): Promise<void> {
    const row = tables.find(archive) ?? (await readInArchive(archive))
    const live = tables.find(row.session_id)
    if (!live || live.damage || live.size < row.size) return
    if ((await store.session(row.session_id).sumBefore(row.size)) !== row.sum) return
    // A crash came between the copy and the removal of the original, and everything in the copy is in the session.
    await archives.remove(archive)
    tables.forget(archive)
  }

  async function readInArchive(archive: string): Promise<SessionRow> {
    let row = tables.ensure(archive, { sessionId: await archives.sessionOf(archive), archive })
    for await (const batch of archives.readHeads(archive)) row = tables.addHeads(row, batch)
    return row
  }

  async function readIn(name: string): Promise<void> {
    try {
      let row = tables.ensure(name)
      const session = store.session(name)
      const { size, seq } = await session.tail()
      // Relaxed, a power cut may take what was acknowledged; otherwise nothing may.
      if (size < row.size && !options.relaxed) throw session.quarantine(shortened(session.path, seq, row.seq))
      if (size < row.size || (!compared.has(name) && row.size > 0 && (await session.sumBefore(row.size)) !== row.sum)) {
        // Not the file that was read before: somebody restored or replaced it.
        forget(name)
        row = tables.ensure(name)
      }
      compared.add(name)
      for await (const batch of session.readAs(parseHeads, { seq: row.seq + 1, offset: row.size }))
        row = tables.addHeads(row, batch)
      // What was wrong with it has been put right.
      if (row.damage) tables.addHeads(row, { events: [], seq: undefined, sum: undefined, end: row.size })
    } catch (error) {
      const damage = findDamage(error)
      if (!damage) throw error
      tables.setDamage(name, damage)
    }
  }

  function schedule(pauseMs = LATE_MS): void {
    if (cancelTimer || working || closed || isComplete()) return
    wait(clock.now() + pauseMs)
  }

  function wait(until: number): void {
    cancelTimer = clock.after(Math.min(until - clock.now(), QUIET_MS), () => {
      cancelTimer = undefined
      const startedAt = clock.now()
      if (startedAt < until && startedAt - grownAt < QUIET_MS) {
        wait(until)
        return
      }
      work().then(
        () => schedule(Math.max(LATE_MS, PAUSES * (clock.now() - startedAt))),
        () => schedule(AGAIN_MS),
      )
    })
  }

  function isComplete(): boolean {
    return aligned && grown.size === 0 && unsearched.size === 0 && !working
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
    if (!aligned) await align()
    let done = 0
    let freshAt = Number.NEGATIVE_INFINITY
    do {
      // What happens now comes first, but not so often that nothing else gets its turn.
      if (unsearched.size === 0 || clock.now() - freshAt >= LATE_MS) {
        const fresh = [...grown]
        await eachOf(grown, fresh, readNew)
        if (fresh.length > 0) await words.commit()
        freshAt = clock.now()
      }
      await eachOf(unsearched, [...unsearched].slice(0, 1), readWords)
      done += 1
      onProgress({ phase: 'search', done, total: done + unsearched.size })
    } while (!closed && unsearched.size > 0)
    await words.commit()
  }

  async function align(): Promise<void> {
    const rows = tables.rows()
    await words.align(rows)
    // Oldest first: a search shows first what was read in last.
    const behind = rows.filter(words.lacks).sort((a, b) => ((a.last_at ?? '') < (b.last_at ?? '') ? -1 : 1))
    for (const { name } of behind) unsearched.add(name)
    aligned = true
  }

  /** Takes names out of a set and works on them; those that fail go back. */
  async function eachOf(set: Set<string>, names: string[], act: (name: string) => Promise<void>): Promise<void> {
    for (const name of names) {
      if (closed) return
      set.delete(name)
      await act(name).catch((error) => {
        set.add(name)
        throw error
      })
    }
  }

  async function readNew(name: string): Promise<void> {
    const row = tables.find(name)
    if (row && compared.has(name) && words.isLevelWith(row)) await readBoth(row)
    if (!row?.archive) await readIn(name)
    await readWords(name)
    unsearched.delete(name)
  }

  /** What is new in a session, read once for its summary and its words. Where that ends early, each goes on by itself. */
  async function readBoth(row: SessionRow): Promise<void> {
    let known = row
    async function* summarized(): AsyncGenerator<LineBatch> {
      for await (const batch of store.session(row.name).readLines({ seq: row.seq + 1, offset: row.size })) {
        known = tables.addHeads(known, headsOf(batch))
        yield batch
      }
    }
    await words.read(row, summarized()).catch((error) => {
      if (!findDamage(error)) throw error
    })
  }

  async function readWords(name: string): Promise<void> {
    const row = tables.find(name)
    if (row && words.lacks(row)) await words.read(row)
  }

  function forget(name: string): void {
    compared.delete(name)
    tables.forget(name)
    words.forget(name)
  }

  // The sessions are safe whatever happens here. A damaged index is made anew; a full disk is waited out.
  async function recover(error: unknown): Promise<void> {
    if (closed) return
    // The words may have been taken back to what is on the disk.
    aligned = false
    if (!hasErrorCode(error, 'SQLITE_CORRUPT', 'SQLITE_NOTADB')) throw error
    database.close()
    await removeDatabase(files.index)
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

  function origin(name: string): { sessionId: string; archive: string | null } | undefined {
    const row = tables.find(name)
    return row && { sessionId: row.session_id, archive: row.archive }
  }

  return {
    sessions: () => tables.rows().map(summary),
    findSession(sessionId) {
      const row = tables.find(sessionId)
      return row && summary(row)
    },
    costs: (by, filter) => readCosts(database, by, filter),
    async search(text, filter = {}) {
      // Asked first: what is finished while the search runs was not searched.
      const complete = isComplete()
      const total = tables.totalSize()
      const done = complete ? total : Math.min(words.searched(), total)
      return {
        ...(await search({ find: words.find, origin, fetch }, text, filter)),
        complete,
        progress: { done, total },
      }
    },
    async catchUp() {
      do await work()
      while (!closed && !isComplete())
    },
    notice(sessionId) {
      compared.delete(sessionId)
      grown.add(sessionId)
      schedule()
    },
    setArchive(sessionId, archive) {
      tables.setArchive(sessionId, archive)
      words.rename(sessionId, archive)
    },
    clearArchive(sessionId, archive) {
      tables.clearArchive(sessionId, archive)
      words.rename(archive, sessionId)
    },
    forget,
    async close() {
      closed = true
      unsubscribe()
      cancelTimer?.()
      await working?.catch(() => undefined)
      await words.close()
      database.close()
    },
  }
}

function summary(row: SessionRow): SessionSummary {
  return {
    sessionId: row.session_id,
    status: row.status,
    state: readState(row),
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
