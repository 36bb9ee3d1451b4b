import { MatrixError } from '@matrix/protocol'
import type { Frame } from '@matrix/protocol/http'
import type { Request } from './client.ts'
import { feedPlace } from './places.ts'
import { readServerSentEvents, type ServerSentEvent } from './server-sent-events.ts'
import { openStreamPosition } from './stream-position.ts'
import { withQuery } from './url.ts'

export type EventStreamOptions = {
  /** Only what concerns this project, or this task. */
  projectId?: string
  taskId?: string
  /** With `taskId`: the last seq that is known; everything after it comes first. */
  after?: number
  signal?: AbortSignal
  /** Told whenever the connection is there, or gone and being made again. */
  onConnection?(isOpen: boolean): void
}

export type EventStream = AsyncGenerator<Frame, void, undefined>

/** The daemon says something at least every 15 s; a connection that stays silent for longer than this is dead. */
const silenceMs = 45_000
const firstPauseMs = 100
const longestPauseMs = 10_000

/**
 * Frames as they come, across lost connections and restarts of the daemon. Ends when the signal does; throws only what trying
 * again would not help, such as not being signed in.
 */
export async function* openEventStream(request: Request, options: EventStreamOptions): EventStream {
  const { projectId, taskId, signal, onConnection } = options
  const position = openStreamPosition(options)
  let failures = 0

  while (!signal?.aborted) {
    try {
      const { after, afterTs, cursor } = position.resumeAt()
      const path = feedUrl({ projectId, taskId, after, afterTs })
      for await (const event of connect(request, path, { cursor, signal, onConnection })) {
        failures = 0
        const verdict = position.accept(event)
        if (verdict.outcome === 'show') yield verdict.frame
        if (verdict.outcome === 'hole') break
      }
    } catch (error) {
      if (signal?.aborted) return
      if (!mayPass(error)) throw error
    }
    onConnection?.(false)
    await pause(pauseAfter(failures), signal)
    failures += 1
  }
}

/** Where the stream of frames is, for whoever opens it by other means. */
export function feedUrl(filter: {
  projectId?: string | undefined
  taskId?: string | undefined
  after?: number | undefined
  afterTs?: string | undefined
}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, String(value))
  return withQuery(feedPlace, query)
}

type Connection = {
  cursor: string | undefined
  signal: AbortSignal | undefined
  onConnection: EventStreamOptions['onConnection'] | undefined
}

async function* connect(
  request: Request,
  path: string,
  { cursor, signal, onConnection }: Connection,
): AsyncGenerator<ServerSentEvent> {
  const connection = new AbortController()
  const end = () => connection.abort()
  signal?.addEventListener('abort', end)
  let heardAt = Date.now()
  const watch = setInterval(() => {
    if (Date.now() - heardAt > silenceMs) end()
  }, silenceMs / 3)

  try {
    const headers = { accept: 'text/event-stream', ...(cursor ? { 'last-event-id': cursor } : {}) }
    const { body } = await request(path, { method: 'GET', headers, signal: connection.signal })
    if (!body) return
    onConnection?.(true)
    yield* readServerSentEvents(body.getReader(), () => {
      heardAt = Date.now()
    })
  } finally {
    clearInterval(watch)
    signal?.removeEventListener('abort', end)
    // Whoever stops reading also hangs up.
    end()
  }
}

function mayPass(error: unknown): boolean {
  return !(error instanceof MatrixError) || error.status >= 500 || error.code === 'RATE_LIMITED'
}

/** Doubles from one failure to the next; the jitter keeps many clients of a daemon that returns from coming all at once. */
function pauseAfter(failures: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** failures) * (0.5 + Math.random() / 2)
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
  })
}
