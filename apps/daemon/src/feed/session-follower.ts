import { type Entry, type Filter, formatFrame, matches } from './entry.ts'
import type { Ring } from './ring.ts'

/** A page of a session's log, as `readEvents` answers it. */
export type LogPage = { events: { seq: number; event: { type: string } }[]; more: boolean; lastSeq: number }

/** Reads the events of the session that come after this one. */
export type ReadLog = (after: number) => Promise<LogPage>

export type LogBytes = { bytes: Buffer; more: boolean }

export type SessionFollower = {
  /** Whether the frames from this position on go on exactly after the last event; if not, the log has what is between. */
  continuesAt(position: number): boolean
  /** The next events of the log as frames, and whether there may be more. */
  readOn(): Promise<LogBytes>
  /** Called when the log has been read: frames from this position on that it has overtaken are left out. */
  rejoin(position: number): void
  accepts(entry: Entry): boolean
}

/** Follows one session by seq: first from its log, then live, with no event twice and none left out. */
export function followSession(
  ring: Ring,
  { projectId, taskId, after, readLog }: { projectId: string; taskId: string; after: number; readLog: ReadLog },
): SessionFollower {
  const filter: Filter = { projectId, taskId }
  let lastSeq = after
  /** Signals before this position belong to events that came from the log. */
  let staleBefore = 0

  const isNews = (seq: number) => seq > lastSeq || isNewBeginning(seq)
  // A session that was reset counts from one again.
  const isNewBeginning = (seq: number) => seq === 1 && lastSeq > 1

  return {
    continuesAt(position) {
      for (let at = position; at < ring.head(); at += 1) {
        const entry = ring.at(at)
        if (entry.kind === 'event' && matches(filter, entry)) return entry.seq === lastSeq + 1
      }
      return false
    },
    async readOn() {
      let page = await readLog(lastSeq)
      if (page.lastSeq < lastSeq) page = await readLog(0)
      const frames = page.events.map(({ seq, event }) => formatFrame({ kind: 'event', projectId, taskId, seq, event }))
      lastSeq = page.events.at(-1)?.seq ?? Math.min(lastSeq, page.lastSeq)
      return { bytes: Buffer.concat(frames), more: page.more && frames.length > 0 }
    },
    rejoin(position) {
      for (let at = Math.max(position, ring.oldest()); at < ring.head(); at += 1) {
        const entry = ring.at(at)
        if (entry.kind === 'event' && matches(filter, entry) && !isNews(entry.seq)) staleBefore = at
      }
    },
    accepts(entry) {
      if (!matches(filter, entry)) return false
      if (entry.kind === 'live') return entry.position >= staleBefore
      if (entry.kind !== 'event') return true
      if (!isNews(entry.seq)) return false
      lastSeq = entry.seq
      return true
    },
  }
}
