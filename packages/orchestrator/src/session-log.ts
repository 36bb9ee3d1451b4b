import type { EventStore, Fence } from '@matrix/event-store'
import type { DurableEvent } from '@matrix/protocol'

export type Stored = { taskId: string; seq: number; event: DurableEvent }

/** The sessions of one project, written by this process alone. */
export type SessionLog = {
  store: EventStore
  /** Answers once the events are durable, and tells everyone who listens; all of them or none. */
  append(taskId: string, events: DurableEvent[]): Promise<void>
  hasMessage(taskId: string, messageId: string): Promise<boolean>
  readActive(taskId: string): Promise<DurableEvent[]>
  fence(taskId: string): Promise<Fence>
  /** Runs work that takes the session's file away, and lets it be claimed anew. */
  release<T>(taskId: string, work: (fence: Fence) => Promise<T>): Promise<T>
}

export type SessionLogOptions = {
  owner: string
  /** Says of what is about to be stored where it came from. */
  label(taskId: string, events: DurableEvent[]): Promise<DurableEvent[]>
  onStored(stored: Stored): void
}

export function openSessionLog(store: EventStore, { owner, label, onStored }: SessionLogOptions): SessionLog {
  const fences = new Map<string, Promise<Fence>>()

  function fence(taskId: string): Promise<Fence> {
    const known = fences.get(taskId)
    if (known) return known
    const claimed = store.claim(taskId, owner)
    fences.set(taskId, claimed)
    // A session that could not be claimed, because it is damaged, may be repaired and claimed later.
    claimed.catch(() => fences.delete(taskId))
    return claimed
  }

  return {
    store,
    fence,
    async append(taskId, given) {
      if (given.length === 0) return
      const events = await label(taskId, given)
      const last = await store.append(taskId, await fence(taskId), events)
      for (const [index, event] of events.entries()) onStored({ taskId, seq: last - events.length + 1 + index, event })
    },
    hasMessage: (taskId, messageId) => store.hasMessage(taskId, messageId),
    readActive: (taskId) => store.readActive(taskId),
    async release(taskId, work) {
      const held = await fence(taskId)
      fences.delete(taskId)
      return work(held)
    },
  }
}
