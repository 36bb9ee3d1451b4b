import type { Frame, SessionEvent } from '@matrix/protocol/http'
import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { client } from './client.ts'

type EventFrame = Extract<Frame, { kind: 'event' }>
type LiveFrame = Extract<Frame, { kind: 'live' }>

/** As much of one conversation as this page has read: a stretch without a hole that ends with the newest event. */
export type Session = {
  readonly projectId: string
  readonly taskId: string
  /** Grows in place; `version` changes whenever it or anything else here does. */
  readonly events: readonly SessionEvent[]
  readonly version: number
  /** What the model has said of a turn that is not over. */
  readonly streaming: string
  /** What the agent says about itself at the moment. */
  readonly note: string | null
  readonly hasOlder: boolean
  readonly state: 'loading' | 'ready' | 'failed'
  readonly error: unknown
  loadOlder(): Promise<void>
  /** Reads back until the event is there, or the beginning. */
  loadBackTo(seq: number): Promise<void>
  retry(): void
}

type Reader = Pick<typeof client, 'readEvents'>

export type OpenSession = Session & {
  subscribe(listener: () => void): () => void
  isWatched(): boolean
  takeEvent(frame: EventFrame): void
  takeSignal(frame: LiveFrame): void
  /** Reads what was missed while nothing could be heard. */
  catchUp(): void
  /** Tells whoever watches, once for many changes. */
  publish(): void
}

const pageSize = 200
const longPage = 1000

export function openSession(reader: Reader, projectId: string, taskId: string): OpenSession {
  const listeners = new Set<() => void>()
  const events: SessionEvent[] = []
  // Heard before it had its place: while the first page is read, or after a hole.
  let early: SessionEvent[] = []
  let reading: Promise<void> | undefined
  let isChanged = false

  const session = {
    projectId,
    taskId,
    events,
    version: 0,
    streaming: '',
    note: null as string | null,
    hasOlder: false,
    state: 'loading' as Session['state'],
    error: undefined as unknown,

    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    isWatched: () => listeners.size > 0,

    takeEvent({ seq, event }: EventFrame) {
      take({ seq, event })
      if (early.length > 0) session.catchUp()
    },

    takeSignal({ event }: LiveFrame) {
      if (event.type === 'text_delta') session.streaming += event.text
      else if (event.type === 'status') session.note = event.text
      else if (event.type === 'agent_idle') clearSignals()
      else return
      isChanged = true
    },

    catchUp() {
      reading ??= readNewer().finally(() => {
        reading = undefined
        session.publish()
      })
    },

    publish() {
      if (!isChanged) return
      isChanged = false
      session.version += 1
      for (const listener of listeners) listener()
    },

    async loadOlder() {
      await readOlder(pageSize)
      session.publish()
    },

    async loadBackTo(seq: number) {
      while (session.hasOlder && (events[0]?.seq ?? 0) > seq) await readOlder(longPage)
      session.publish()
    },

    retry() {
      session.state = 'loading'
      isChanged = true
      session.publish()
      session.catchUp()
    },
  }

  function take(entry: SessionEvent): void {
    const last = events.at(-1)?.seq
    if (session.state !== 'ready') early.push(entry)
    else if (last === undefined || entry.seq === last + 1) append(entry)
    else if (entry.seq > last) early.push(entry)
  }

  function append(entry: SessionEvent): void {
    events.push(entry)
    isChanged = true
    // The finished text takes the place of its pieces.
    const { type } = entry.event
    if (type === 'assistant_text' || type === 'turn_completed' || type === 'agent_stopped' || type === 'error')
      clearSignals()
  }

  function clearSignals(): void {
    session.streaming = ''
    session.note = null
    isChanged = true
  }

  async function readNewer(): Promise<void> {
    try {
      if (session.state === 'ready') await readAfterLast()
      else await readFirst()
    } catch (error) {
      if (session.state !== 'ready') session.state = 'failed'
      session.error = error
      isChanged = true
    }
  }

  async function readFirst(): Promise<void> {
    const page = await reader.readEvents({ projectId, taskId, limit: pageSize })
    events.splice(0, events.length, ...page.events)
    session.hasOlder = page.more
    session.state = 'ready'
    session.error = undefined
    isChanged = true
    settleEarly()
  }

  async function readAfterLast(): Promise<void> {
    let more = true
    while (more) {
      const page = await reader.readEvents({ projectId, taskId, after: events.at(-1)?.seq ?? 0, limit: longPage })
      for (const entry of page.events) if (entry.seq > (events.at(-1)?.seq ?? 0)) append(entry)
      more = page.more && page.events.length > 0
    }
    settleEarly()
  }

  function settleEarly(): void {
    const waiting = early.sort((one, other) => one.seq - other.seq)
    early = []
    for (const entry of waiting) take(entry)
    // Still a hole before these: they are on disk, so reading again brings them too.
    early = []
  }

  async function readOlder(limit: number): Promise<void> {
    const first = events[0]?.seq
    if (!session.hasOlder || first === undefined) return
    const page = await reader.readEvents({ projectId, taskId, before: first, limit })
    // Somebody else may have read the same page meanwhile.
    if (events[0]?.seq !== first) return
    events.unshift(...page.events)
    session.hasOlder = page.more && page.events.length > 0
    isChanged = true
  }

  return session
}

const open = new Map<string, OpenSession>()
const mostKept = 12

/** The session if this page has it open. */
export function findSession(projectId: string, taskId: string): OpenSession | undefined {
  return open.get(`${projectId}/${taskId}`)
}

export function openSessions(): Iterable<OpenSession> {
  return open.values()
}

function getSession(projectId: string, taskId: string): OpenSession {
  const key = `${projectId}/${taskId}`
  const known = open.get(key)
  // Taken out and put back, so that the map is in the order of last use.
  if (known) open.delete(key)
  const session = known ?? openSession(client, projectId, taskId)
  open.set(key, session)
  for (const [oldest, one] of open) {
    if (open.size <= mostKept) break
    if (!one.isWatched() && one !== session) open.delete(oldest)
  }
  if (!known) session.catchUp()
  return session
}

/** The conversation of a task, live. Drawn again whenever its `version` changes. */
export function useSession(projectId: string, taskId: string): Session {
  const session = useMemo(() => getSession(projectId, taskId), [projectId, taskId])
  useSyncExternalStore(session.subscribe, () => session.version)
  useEffect(() => {
    // It may have been forgotten between drawing and showing, and would then hear nothing.
    if (findSession(projectId, taskId) !== session) open.set(`${projectId}/${taskId}`, session)
  }, [session, projectId, taskId])
  return session
}
