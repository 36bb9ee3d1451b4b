import { type DurableEvent, MatrixError } from '@matrix/protocol'
import { findPendingMessages } from '@matrix/protocol/session'
import type { EventStore, Fence } from './event-store.ts'
import type { FileSystem } from './file-system.ts'
import { type Random, seededRandom } from './random.ts'
import { type Fault, type Operation, type SimulatedDisk, simulateDisk } from './simulated-file-system.ts'

/** Opens a store on this disk; `onFatal` is what the store calls instead of ending the process. */
export type OpenOnDisk = (fileSystem: FileSystem, onFatal: (error: MatrixError) => void) => Promise<EventStore>

export type CrashPlan = {
  seed: number
  /** Crashes in turn, each so many steps after the process before it started. */
  crashes: { after: number; kind: 'kill' | 'power' }[]
  /** What happens to a process that gets through its work. */
  rest?: 'kill' | 'power'
  /** Makes one operation of a kind in so many fail. */
  faults?: { on: Operation['name']; kinds: Fault[]; oneIn: number }[]
}

export type CrashOutcome = { violations: string[]; crashes: number; acknowledged: number; steps: number }

/**
 * Lets a writer work, crashes it as planned, opens the store again and compares with what was promised: acknowledged
 * appends are there, whole, in order and once; what a reader was shown is there; an append that failed is not.
 */
export async function runWithCrashes(
  open: OpenOnDisk,
  { seed, crashes, faults = [], rest = 'power' }: CrashPlan,
): Promise<CrashOutcome> {
  const disk = simulateDisk(seed)
  const random = seededRandom(seed + 7)
  const book = openBook()
  let crashed = 0
  disk.failWhen(({ name }) => {
    const fault = faults.find(({ on, oneIn }) => on === name && random.int(oneIn) === 0)
    return fault && random.pick(fault.kinds)
  })

  for (const { after, kind } of [...crashes, { after: Number.POSITIVE_INFINITY, kind: rest }]) {
    const died = new Promise<'crash'>((resolve) => {
      disk.crashAt(disk.steps() + after, kind, () => {
        book.died()
        resolve('crash')
      })
    })
    const end = await Promise.race([died, work(open, disk, random, book).then(() => 'done' as const, explain)])
    if (end === 'crash') crashed += 1
    else if (end !== 'done') book.report(`the work failed: ${end}`)
    // Resting is no excuse: the power may fail when everything has been said and done.
    if (end !== 'crash') disk.crashNow(rest)
  }
  disk.failWhen(() => undefined)
  disk.crashAt(Number.POSITIVE_INFINITY, 'kill', () => undefined)
  await inspect(open, disk, book)
  return { violations: book.violations, crashes: crashed, acknowledged: book.acknowledged(), steps: disk.steps() }
}

/** So many crash points, spread over seeds, kinds of crash, second crashes during recovery, and failing disks. */
export function* planCrashes(points: number, firstSeed = 1): Generator<CrashPlan> {
  const random = seededRandom(firstSeed)
  for (let seed = firstSeed; points > 0; seed += 1) {
    const crashes = Array.from({ length: 1 + random.int(5) }, () => ({
      after: 1 + random.int(70),
      kind: random.pick(['kill', 'power'] as const),
    }))
    points -= crashes.length
    yield { seed, crashes, faults: random.pick(faultSets) }
  }
}

const faultSets: NonNullable<CrashPlan['faults']>[] = [
  [],
  [],
  [{ on: 'write', kinds: ['ENOSPC', 'short'], oneIn: 8 }],
  [
    { on: 'write', kinds: ['EIO'], oneIn: 25 },
    { on: 'sync', kinds: ['EIO'], oneIn: 8 },
  ],
]

/** One process: it looks at everything that is there, then writes, reads, forks, compacts and takes back until it is done or dead. */
async function work(open: OpenOnDisk, disk: SimulatedDisk, random: Random, book: Book): Promise<void> {
  const store = await inspect(open, disk, book)
  const life = book.life()
  const seen = store.subscribe(({ sessionId, seq }) => book.hinted(sessionId, seq))
  const writing = sessionIds.map((sessionId) => writeSession(store, sessionId, random, book, life))
  await Promise.all([...writing, watch(store, random, book)])
  await tryFork(store, random, book)
  seen()
  await store.close()
}

const sessionIds = ['a', 'b']

async function writeSession(
  store: EventStore,
  sessionId: string,
  random: Random,
  book: Book,
  life: number,
): Promise<void> {
  const fence = await store.claim(sessionId, 'writer')
  for (let round = 0; round < 2; round += 1) {
    const appends: Promise<void>[] = []
    for (let count = 1 + random.int(3); count > 0; count -= 1) {
      // What a dead process would still have said was never said.
      if (book.life() !== life) return
      appends.push(append(store, sessionId, fence, random, book))
      // Some are made in one go, some while the one before is on its way to the disk.
      for (let pause = random.pick([0, 0, 20, 40]); pause > 0; pause -= 1) await undefined
    }
    await Promise.all(appends)
  }
}

/** Someone with the page open: whatever they are shown has to stay true. */
async function watch(store: EventStore, random: Random, book: Book): Promise<void> {
  for (let times = 0; times < 4; times += 1) await look(store, random.pick(sessionIds), book)
}

function append(store: EventStore, sessionId: string, fence: Fence, random: Random, book: Book): Promise<void> {
  const events = Array.from({ length: random.pick([1, 1, 1, 2, 8]) }, () => book.event(sessionId, random))
  const entry = book.sent(sessionId, events)
  return store.append(sessionId, fence, events).then(
    () => book.acked(entry),
    (error) => book.failed(entry, error),
  )
}

async function tryFork(store: EventStore, random: Random, book: Book): Promise<void> {
  if (random.chance(0.6)) return
  const target = `fork-${book.nextId()}`
  const fence = await store.claim(target, 'writer')
  const marker = { taskId: target, ts: TS, title: target, description: '', worktreePath: null }
  const source = random.pick(sessionIds)
  const last = await store.lastSeq(source)
  const upTo = last > 0 && random.chance(0.5) ? 1 + random.int(last) : undefined
  book.forking(target)
  await store.copySessionFrom(source, target, fence, marker, { upTo }).then(
    (seq) => book.forked(target, seq),
    (error) => book.fatalOnly(error),
  )
}

/** Opens the store after a crash and holds it against the book. What is seen now counts as promised from now on. */
async function inspect(open: OpenOnDisk, disk: SimulatedDisk, book: Book): Promise<EventStore> {
  const store = await open(disk.boot(), () => disk.crashNow('kill'))
  book.booted()
  for (const sessionId of [...sessionIds, ...book.forks()]) await look(store, sessionId, book, true)
  return store
}

async function look(store: EventStore, sessionId: string, book: Book, settled = false): Promise<void> {
  const events: DurableEvent[] = []
  const hinted = book.lastHint(sessionId)
  try {
    for await (const batch of store.read(sessionId)) events.push(...batch.map(({ event }) => event as DurableEvent))
    if (events.length < hinted) book.report(`${sessionId}: a hint said ${hinted}, ${events.length} are there`)
    book.compare(sessionId, events, settled)
    if (!settled) return
    const waiting = (list: DurableEvent[]) =>
      findPendingMessages(list)
        .map(({ id }) => id)
        .join(' ')
    const active = await store.readActive(sessionId)
    if (waiting(active) !== waiting(events))
      book.report(`${sessionId}: waiting messages are [${waiting(active)}] after compaction, were [${waiting(events)}]`)
  } catch (error) {
    if (!(error instanceof MatrixError) || error.code !== 'STORAGE_FAILED')
      book.report(`${sessionId}: ${explain(error)}`)
  }
}

const TS = '2026-01-01T00:00:00.000Z'

type Entry = { sessionId: string; keys: string[]; fate: 'sent' | 'acked' | 'failed'; sentAt: number; failedAt?: number }
type Book = ReturnType<typeof openBook>

/** What the outside world was told. */
function openBook() {
  const violations: string[] = []
  const entries = new Map<string, Entry[]>(sessionIds.map((id) => [id, []]))
  const shown = new Map<string, string[]>()
  const hints = new Map<string, number>()
  const forks = new Map<string, number | undefined>()
  const unread = new Map<string, string[]>(sessionIds.map((id) => [id, []]))
  let last = 0
  let alive = true
  let life = 1
  let now = 0
  const tick = () => {
    now += 1
    return now
  }

  const report = (violation: string) => void violations.push(violation)

  function event(sessionId: string, random: Random): DurableEvent {
    last += 1
    const stamp = { taskId: `k${last}`, ts: TS }
    const waiting = unread.get(sessionId) ?? []
    const kind = random.int(10)
    if (kind === 0) return { type: 'compact_marker', ...stamp, checkpoint: 'so far' }
    if (kind === 1) return { type: 'messages_consumed', ...stamp, messageIds: waiting.splice(0, 2) }
    if (kind <= 4) {
      waiting.push(`m${last}`)
      return {
        type: 'message',
        ...stamp,
        message: { source: 'user', id: `m${last}`, text: 'x'.repeat(random.int(60)) },
      }
    }
    if (kind === 5) return { type: 'rewind_marker', ...stamp, upTo: random.int(20) }
    return { type: 'assistant_text', ...stamp, text: 'é'.repeat(random.int(kind === 9 ? 400 : 40)) }
  }

  /** Matches what was read with what was sent, append by append. */
  function compare(sessionId: string, events: DurableEvent[], settled: boolean): void {
    const keys = events.map(({ taskId }) => taskId)
    const before = shown.get(sessionId) ?? []
    if (keys.slice(0, before.length).join() !== before.join())
      report(`${sessionId}: what a reader was shown has changed`)
    shown.set(sessionId, keys)
    if (forks.has(sessionId)) compareFork(sessionId, events)
    else if (settled) settle(sessionId, keys)
  }

  function settle(sessionId: string, keys: string[]): void {
    let at = 0
    let gap: Entry | undefined
    const kept = (entries.get(sessionId) ?? []).filter((entry) => {
      const there = entry.keys.every((key, index) => keys[at + index] === key)
      if (there && entry.fate === 'failed') report(`${sessionId}: an append that failed is there (${entry.keys})`)
      if (there && gap) report(`${sessionId}: ${entry.keys} is there without ${gap.keys} before it`)
      if (there) at += entry.keys.length
      else if (entry.fate === 'acked') report(`${sessionId}: the acknowledged ${entry.keys} is lost`)
      else if (entry.fate === 'sent') gap ??= entry
      return there
    })
    if (at < keys.length) report(`${sessionId}: ${keys.slice(at)} was never sent, or only in part`)
    for (const entry of kept) entry.fate = 'acked'
    entries.set(sessionId, kept)
  }

  function compareFork(sessionId: string, events: DurableEvent[]): void {
    if (events.length === 0 && forks.get(sessionId) === undefined) return
    if (events.at(-1)?.type !== 'fork_marker') report(`${sessionId}: half a fork is there`)
    if (events.length < (forks.get(sessionId) ?? 0)) report(`${sessionId}: an acknowledged fork is lost`)
    forks.set(sessionId, events.length)
  }

  function fatalOnly(error: unknown): void {
    const expected = error instanceof MatrixError && ['STORAGE_FULL', 'STORAGE_FAILED'].includes(error.code)
    if (!expected) report(`unexpected: ${explain(error)}`)
  }

  return {
    violations,
    report,
    event,
    compare,
    fatalOnly,
    nextId: tick,
    acknowledged: () => [...entries.values()].flat().filter(({ fate }) => fate === 'acked').length,
    sent(sessionId: string, events: DurableEvent[]): Entry {
      const entry: Entry = { sessionId, keys: events.map(({ taskId }) => taskId), fate: 'sent', sentAt: tick() }
      entries.get(sessionId)?.push(entry)
      return entry
    },
    acked(entry: Entry): void {
      entry.fate = 'acked'
      const earlier = (entries.get(entry.sessionId) ?? []).filter(({ sentAt }) => sentAt < entry.sentAt)
      const hole = earlier.find(({ failedAt = 0 }) => failedAt > entry.sentAt)
      if (hole) report(`${entry.sessionId}: ${entry.keys} was stored although ${hole.keys}, sent before it, failed`)
    },
    failed(entry: Entry, error: unknown): void {
      // A dying process cannot say what became of an append.
      if (alive) Object.assign(entry, { fate: 'failed', failedAt: tick() })
      fatalOnly(error)
    },
    hinted(sessionId: string, seq: number): void {
      hints.set(sessionId, seq)
    },
    life: () => life,
    died() {
      alive = false
      life += 1
    },
    booted() {
      alive = true
    },
    lastHint: (sessionId: string) => hints.get(sessionId) ?? 0,
    forking: (target: string) => void forks.set(target, undefined),
    forked: (target: string, seq: number) => void forks.set(target, seq),
    forks: () => [...forks.keys()],
  }
}

function explain(error: unknown): string {
  return error instanceof MatrixError
    ? `${error.code} ${error.message}`
    : String(error instanceof Error ? error.stack : error)
}
