import type { QueueMessage } from '@matrix/protocol'
import type { Frame, SessionEvent } from '@matrix/protocol/http'
import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { client } from './client.ts'
import { type EventPages, openEventPages, type PagesView } from './event-pages.ts'
import { useLive } from './live.ts'
import { openPendingMessages } from './pending-messages.ts'

type EventFrame = Extract<Frame, { kind: 'event' }>
type LiveFrame = Extract<Frame, { kind: 'live' }>

/** One conversation as far as this page has read it: the pages that are looked at, its end, and what is being said. */
export type Session = {
  readonly projectId: string
  readonly taskId: string
  readonly pages: EventPages
  /** Another object whenever an event or a page has come or gone. */
  readonly view: PagesView
  /** Changes whenever anything here does. */
  readonly version: number
  /** What the model has said of a turn that is not over. */
  readonly streaming: string
  /** What the agent says about itself at the moment. */
  readonly note: string | null
  /** The end of what each call has printed that is not over. */
  readonly outputs: ReadonlyMap<string, string>
  /** Messages that the agent has not read yet. */
  readonly pending: readonly QueueMessage[]
  readonly state: 'loading' | 'ready' | 'failed'
  readonly error: unknown
  retry(): void
  /** Shows a message as taken back before the daemon's own word about it arrives. */
  forgetPending(messageId: string): void
}

type Reader = Pick<typeof client, 'readEvents' | 'listMessages'>

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

/** Events after which the pieces of a text are no longer the latest word. */
const endsStreaming: ReadonlySet<string> = new Set(['assistant_text', 'turn_completed', 'agent_stopped', 'error'])

/** How much is shown of what a call prints; all of it, or its beginning and end, comes with the result. */
const mostOutput = 8000

export function openSession(reader: Reader, projectId: string, taskId: string, knownLastSeq = 0): OpenSession {
  const listeners = new Set<() => void>()
  const pages = openEventPages({ read: (query) => reader.readEvents({ projectId, taskId, ...query }) })
  const pending = openPendingMessages()
  let heard: SessionEvent[] = []
  let isReading = false
  let isChanged = false

  const session = {
    projectId,
    taskId,
    pages,
    version: 0,
    streaming: '',
    note: null as string | null,
    outputs: new Map<string, string>(),
    state: 'loading' as Session['state'],
    error: undefined as unknown,

    get view() {
      return pages.view()
    },
    get pending() {
      return pending.list()
    },

    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    isWatched: () => listeners.size > 0,

    takeEvent({ seq, event }: EventFrame) {
      heard.push({ seq, event })
      pending.takeEvent({ seq, event })
      if (endsStreaming.has(event.type)) clearSignals()
      if (event.type === 'tool_result' && 'callId' in event) session.outputs.delete(String(event.callId))
      if (event.type === 'agent_stopped') session.outputs.clear()
      isChanged = true
    },

    takeSignal({ event }: LiveFrame) {
      if (event.type === 'text_delta') session.streaming += event.text
      else if (event.type === 'status') session.note = event.text
      else if (event.type === 'tool_output') addOutput(event.callId, event.text)
      else if (event.type === 'agent_idle') clearSignals()
      else return
      isChanged = true
    },

    catchUp() {
      if (isReading) return
      isReading = true
      void read().finally(() => {
        isReading = false
        isChanged = true
        session.publish()
      })
    },

    publish() {
      if (!isChanged) return
      isChanged = false
      const events = heard
      heard = []
      session.version += 1
      pages.append(events)
      for (const listener of listeners) listener()
    },

    retry() {
      session.state = 'loading'
      isChanged = true
      session.publish()
      session.catchUp()
    },

    forgetPending(messageId: string) {
      pending.remove(messageId)
      isChanged = true
      session.publish()
    },
  }

  pages.subscribe(() => {
    isChanged = true
    // While events are being taken in, whoever watches is told once, afterwards.
    queueMicrotask(session.publish)
  })

  function addOutput(callId: string, text: string): void {
    session.outputs.set(callId, `${session.outputs.get(callId) ?? ''}${text}`.slice(-mostOutput))
  }

  function clearSignals(): void {
    session.streaming = ''
    session.note = null
  }

  async function read(): Promise<void> {
    try {
      pending.expectList()
      const [list] = await Promise.all([reader.listMessages({ projectId, taskId }), pages.catchUp(knownLastSeq)])
      pending.takeList(list)
      const { failed, pages: loaded } = pages.view()
      if (loaded.size === 0 && failed.size > 0) throw [...failed.values()][0]
      session.state = 'ready'
      session.error = undefined
    } catch (error) {
      if (session.state !== 'ready') session.state = 'failed'
      session.error = error
    }
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
  const lastSeq = useLive.getState().tasks[projectId]?.[taskId]?.lastSeq
  const session = known ?? openSession(client, projectId, taskId, lastSeq)
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
