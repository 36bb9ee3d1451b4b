import { createHmac } from 'node:crypto'
import { createSecret, digestOf, isSameSecret } from './secret.ts'

const usualLimits = { idleMs: 12 * 60 * 60_000, maxMs: 7 * 24 * 60 * 60_000 }
const mostSessions = 1000

export type SessionOptions = { now(): number; limits?: Partial<typeof usualLimits> }

export type Session = { key: string; deviceId: string; startedAt: number; usedAt: number }
export type SignedIn = { sessionId: string; csrfToken: string; expiresAt: number }

export type Sessions = {
  /** Starts a session, or goes on with the one that the same device has: all tabs of a browser share one cookie. */
  start(deviceId: string, sessionId: string | undefined): SignedIn
  /** The session of a request, if its id and its CSRF token belong together and it has not ended. */
  find(sessionId: string | undefined, csrfToken: string | undefined): Session | undefined
  /** Whether a session that was found earlier still holds. */
  holds(session: Session): boolean
  end(session: Session): void
  endAll(deviceId: string): void
}

/** Who is signed in. Only in memory: a browser signs in again by itself, since it keeps its key. */
export function openSessions({ now, limits = {} }: SessionOptions): Sessions {
  const { idleMs, maxMs } = { ...usualLimits, ...limits }
  // A copy of this memory is not enough to be somebody.
  const sessions = new Map<string, Session>()
  const csrfKey = createSecret()
  const csrfOf = (sessionId: string) => createHmac('sha256', csrfKey).update(sessionId).digest('base64url')

  const isOver = ({ startedAt, usedAt }: Session) => now() - usedAt > idleMs || now() - startedAt > maxMs
  const findById = (sessionId: string): Session | undefined => {
    const session = sessions.get(digestOf(sessionId))
    return session && !isOver(session) ? session : undefined
  }
  const add = (session: Session) => {
    for (const [key, other] of sessions) if (isOver(other)) sessions.delete(key)
    const [oldest] = sessions.keys()
    if (oldest !== undefined && sessions.size >= mostSessions) sessions.delete(oldest)
    sessions.set(session.key, session)
  }

  return {
    start(deviceId, known) {
      const going = known === undefined ? undefined : findById(known)
      const sessionId = known !== undefined && going?.deviceId === deviceId ? known : createSecret()
      const times = { startedAt: now(), usedAt: now() }
      if (sessionId === known && going) Object.assign(going, times)
      else add({ key: digestOf(sessionId), deviceId, ...times })
      return { sessionId, csrfToken: csrfOf(sessionId), expiresAt: times.startedAt + maxMs }
    },
    find(sessionId, csrfToken) {
      if (!sessionId || !csrfToken) return undefined
      const session = findById(sessionId)
      if (!session || !isSameSecret(csrfToken, csrfOf(sessionId))) return undefined
      session.usedAt = now()
      return session
    },
    holds: (session) => !isOver(session) && sessions.get(session.key) === session,
    end: ({ key }) => void sessions.delete(key),
    endAll(deviceId) {
      for (const [key, session] of sessions) if (session.deviceId === deviceId) sessions.delete(key)
    },
  }
}
