import type { EventPage, SessionEvent } from '@matrix/protocol/http'

/** Reads a stretch of a session: everything after a seq, oldest first. */
export type ReadEvents = (query: { after: number; limit: number }) => Promise<EventPage>

export type EventPagesOptions = { read: ReadEvents; pageSize?: number; maxPages?: number }

/** What is known of a session at one moment. Pages that are not in memory are holes between those that are. */
export type PagesView = {
  lastSeq: number
  pageSize: number
  pages: ReadonlyMap<number, readonly SessionEvent[]>
  failed: ReadonlyMap<number, string>
}

export type EventPages = ReturnType<typeof openEventPages>

const PAGE_SIZE = 200
const MAX_PAGES = 12
const MAX_LOOK_BACK = 5

/**
 * A session of any length held in a few pages of fixed place: page 0 starts with seq 1. What is looked at is loaded, what is far
 * away is dropped, and the newest events arrive by themselves.
 */
export function openEventPages({ read, pageSize = PAGE_SIZE, maxPages = MAX_PAGES }: EventPagesOptions) {
  const pages = new Map<number, readonly SessionEvent[]>()
  const failed = new Map<number, string>()
  const loading = new Map<number, Promise<void>>()
  const listeners = new Set<() => void>()
  // Heard of while their page is being read, which may have begun before they happened.
  let early: SessionEvent[] = []
  let shown: readonly [number, number] = [0, 0]
  let lastSeq = 0
  let view: PagesView | undefined

  const pageOf = (seq: number) => Math.max(0, Math.ceil(seq / pageSize) - 1)

  function changed(): void {
    view = undefined
    for (const listener of listeners) listener()
  }

  function forget(): void {
    pages.clear()
    failed.clear()
    early = []
    lastSeq = 0
    shown = [0, 0]
  }

  function isComplete(page: number): boolean {
    const events = pages.get(page)
    if (!events) return false
    return (events.at(-1)?.seq ?? page * pageSize) >= Math.min((page + 1) * pageSize, lastSeq)
  }

  function load(page: number): Promise<void> {
    const running = loading.get(page)
    if (running) return running
    const promise = fetchPage(page).finally(() => loading.delete(page))
    loading.set(page, promise)
    return promise
  }

  async function fetchPage(page: number): Promise<void> {
    try {
      const first = page * pageSize
      const known = lastSeq
      const answer = await read({ after: first, limit: pageSize })
      // A session only grows, and its events stay what they are: this is another, which began while nothing could be heard.
      if (answer.lastSeq < known || isOther(answer.events, pages.get(page))) forget()
      const within = answer.events.filter(({ seq }) => seq > first && seq <= first + pageSize)
      const heard = early.filter(({ seq }) => pageOf(seq) === page)
      early = early.filter(({ seq }) => pageOf(seq) !== page)
      pages.set(page, mergeEvents(within, [...(pages.get(page) ?? []), ...heard]))
      lastSeq = Math.max(lastSeq, answer.lastSeq)
      failed.delete(page)
    } catch (error) {
      failed.set(page, error instanceof Error ? error.message : String(error))
    }
    dropFar()
    changed()
  }

  /** The page that grows stays: whatever else is looked at, the next event has to find its place. */
  function dropFar(): void {
    const [first, last] = shown
    const distance = (page: number) => (page < first ? first - page : page > last ? page - last : 0)
    const tail = pageOf(lastSeq)
    const far = [...pages.keys()]
      .filter((page) => page !== tail && distance(page) > 0)
      .sort((left, right) => distance(right) - distance(left))
    for (const page of far.slice(0, Math.max(0, pages.size - maxPages))) pages.delete(page)
  }

  return {
    pageOf,
    subscribe(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    view(): PagesView {
      view ??= { lastSeq, pageSize, pages: new Map(pages), failed: new Map(failed) }
      return view
    },
    /** Says which pages are looked at; those and their neighbours are loaded. A page that failed waits for `retry`. */
    async show(first: number, last: number): Promise<void> {
      shown = [first, last]
      const wanted: Promise<void>[] = []
      for (let page = Math.max(0, first - 1); page <= Math.min(last + 1, pageOf(lastSeq)); page += 1)
        if (!isComplete(page) && !failed.has(page)) wanted.push(load(page))
      await Promise.all(wanted)
    },
    /** Reads what a page lacks, also after it has failed. */
    async retry(page: number): Promise<void> {
      failed.delete(page)
      await load(page)
    },
    /** Reads how far the session is by now, and its end. */
    async catchUp(knownLastSeq = 0): Promise<void> {
      lastSeq = Math.max(lastSeq, knownLastSeq)
      const before = pageOf(lastSeq)
      await load(before)
      const end = pageOf(lastSeq)
      if (end !== before && !isComplete(end) && !failed.has(before)) await load(end)
      if (pages.size === 1) shown = [end, end]
    },
    /** Takes events in as they happen. One that does not follow the last known leaves a hole that `show` fills. */
    append(events: readonly SessionEvent[]): void {
      if (events.length === 0) return
      // A session that was reset begins again with its first event.
      if (events.some(({ seq }) => seq === 1) && lastSeq > 1) forget()
      for (const [page, added] of groupByPage(events, pageOf)) {
        const known = pages.get(page)
        if (known || added[0]?.seq === page * pageSize + 1) pages.set(page, mergeEvents(known ?? [], added))
        else if (loading.has(page)) early.push(...added)
      }
      lastSeq = Math.max(lastSeq, ...events.map(({ seq }) => seq))
      for (const page of new Set([...pages.keys(), pageOf(lastSeq)])) if (!isComplete(page)) void load(page)
      dropFar()
      changed()
    },
    /** The nearest page before an event that is not in memory, if it is near enough to look there for something. */
    previousMissing(seq: number): number | undefined {
      const own = pageOf(seq)
      for (let page = own - 1; page >= Math.max(0, own - MAX_LOOK_BACK); page -= 1) if (!pages.has(page)) return page
      return undefined
    },
  }
}

function isOther(events: readonly SessionEvent[], known: readonly SessionEvent[] = []): boolean {
  const times = new Map(known.map(({ seq, event }) => [seq, event.ts]))
  return events.some(({ seq, event }) => times.has(seq) && times.get(seq) !== event.ts)
}

function groupByPage(events: readonly SessionEvent[], pageOf: (seq: number) => number): Map<number, SessionEvent[]> {
  const groups = new Map<number, SessionEvent[]>()
  for (const entry of events) {
    const group = groups.get(pageOf(entry.seq))
    if (group) group.push(entry)
    else groups.set(pageOf(entry.seq), [entry])
  }
  return groups
}

/** Both in one order, each event once, up to the first hole: what stands behind a hole is read again with the hole. */
function mergeEvents(left: readonly SessionEvent[], right: readonly SessionEvent[]): readonly SessionEvent[] {
  const all = new Map([...left, ...right].map((entry) => [entry.seq, entry]))
  const sorted = [...all.values()].sort((a, b) => a.seq - b.seq)
  const hole = sorted.findIndex((entry, index) => index > 0 && entry.seq !== (sorted[index - 1]?.seq ?? 0) + 1)
  return hole < 0 ? sorted : sorted.slice(0, hole)
}
