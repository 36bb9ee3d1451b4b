import type { DurableEvent } from '@matrix/protocol'
import type { ForkTarget } from './fork.ts'
import type { StoredEvent } from './stored-event.ts'

/** Proof of being the one owner of a session. Whoever claims the session next makes it worthless. */
export type Fence = { owner: string; epoch: number }

/** A session has grown to this seq. A hint may be late or left out: what counts is what `read` returns. */
export type Hint = { sessionId: string; seq: number }

/** Takes a session as it was when the event with this seq was its last; as it is now when left out. */
export type UpTo = { upTo?: number | undefined }

/** Keeps sessions. What `append` has acknowledged is there for good; everything that is read is there for good too. */
export type EventStore = {
  /** Makes `owner` the only one who may append, once everything the owner before it was promised is stored. */
  claim(sessionId: string, owner: string): Promise<Fence>
  release(sessionId: string, fence: Fence): Promise<void>
  /**
   * Stores all of the events or none, and answers the seq of the last one. When one append fails, so do those that were
   * made before its failure could be heard of.
   */
  append(sessionId: string, fence: Fence, events: DurableEvent[]): Promise<number>
  /** Everything after a seq, in order, a batch at a time. */
  read(sessionId: string, options?: { after?: number; limit?: number }): AsyncIterable<StoredEvent[]>
  /** What a conversation resumes from: the last compact marker and what follows, preceded by what the marker must not hide. */
  readActive(sessionId: string, options?: UpTo): Promise<DurableEvent[]>
  /** The seq of the last event; 0 when there is none. */
  lastSeq(sessionId: string): Promise<number>
  /** Whether a message with this id was ever stored in the session, consumed or not. */
  hasMessage(sessionId: string, messageId: string): Promise<boolean>
  /** Makes an unstarted session a fork of another, in one append. */
  copySessionFrom(source: string, target: string, fence: Fence, marker: ForkTarget, options?: UpTo): Promise<number>
  listSessions(): Promise<string[]>
  /** Calls back after something was stored; the answer ends it. */
  subscribe(listener: (hint: Hint) => void): () => void
  close(): Promise<void>
}

/** One page that ends before a seq, or the last page. Seqs have no holes, so a page is a range of them. */
export async function readPage(
  store: EventStore,
  sessionId: string,
  { before = Number.POSITIVE_INFINITY, limit }: { before?: number; limit: number },
): Promise<{ events: StoredEvent[]; more: boolean }> {
  const end = Math.min(before - 1, await store.lastSeq(sessionId))
  const after = Math.max(0, end - limit)
  const events: StoredEvent[] = []
  if (end > 0) for await (const batch of store.read(sessionId, { after, limit: end - after })) events.push(...batch)
  return { events, more: after > 0 }
}

/** Everything after a seq and then whatever is appended, until the signal. Hints only shorten the wait. */
export async function* tailSession(
  store: EventStore,
  sessionId: string,
  { after = 0, signal, pollMs = 2000 }: { after?: number; signal: AbortSignal; pollMs?: number },
): AsyncGenerator<StoredEvent[]> {
  let seen = after
  let wake: () => void = () => undefined
  const unsubscribe = store.subscribe((hint) => hint.sessionId === sessionId && hint.seq > seen && wake())
  signal.addEventListener('abort', () => wake())
  try {
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      for await (const batch of store.read(sessionId, { after: seen })) {
        if (signal.aborted) return
        seen = batch.at(-1)?.seq ?? seen
        yield batch
      }
      const timer = setTimeout(wake, pollMs)
      await woken
      clearTimeout(timer)
    }
  } finally {
    unsubscribe()
  }
}
