import type { Orchestrator, ServedOperation } from '@matrix/orchestrator'
import type { Operation, RouteOutput, RouteRequest, Routes } from '@matrix/protocol/http'
import type { Access, Identity } from '../access/access.ts'

/** Who makes a request, from where, and how the answer gives a browser its cookie. */
export type Caller = {
  identity: Identity
  origin: string
  /** Whom limits count. */
  source: string
  cookie: string | undefined
  setCookie(value: string | undefined): void
}

type DaemonOperation = Exclude<Operation, ServedOperation>

/** What only the daemon itself can answer. */
export type DaemonOperations = {
  [Op in DaemonOperation]: (
    request: RouteRequest<Routes[Op]>,
    caller: Caller,
  ) => RouteOutput<Routes[Op]> | Promise<RouteOutput<Routes[Op]>>
}

export type DaemonFacts = { version: string; startedAt: string; dataDirectory: string }

export function createDaemonOperations(
  orchestrator: Orchestrator,
  access: Access,
  { version, startedAt, dataDirectory }: DaemonFacts,
): DaemonOperations {
  return {
    health: () => ({ ok: true, version }),
    ready: () => ({ ready: true }),
    getStatus: () => ({
      version,
      pid: process.pid,
      startedAt,
      dataDirectory,
      sandbox: orchestrator.sandbox(),
      agents: orchestrator.agents(),
      provider: orchestrator.provider(),
    }),
    openEnrolment: () => access.openEnrolment({ trusted: false }),
    enrolDevice: ({ body }, { source }) => access.enrol({ ...body, source }),
    confirmDevice: ({ params }) => access.confirm(params.deviceId),
    listDevices: (_, { identity }) => access.list(identity),
    revokeDevice: async ({ params }) => {
      await access.revoke(params.deviceId)
      return null
    },
    challenge: ({ body }, { source }) => access.challenge({ ...body, source }),
    answerChallenge: async ({ body }, { origin, source, cookie, setCookie }) => {
      const { sessionId, csrfToken, expiresAt } = await access.signIn({ ...body, origin, source, cookie })
      setCookie(sessionId)
      return { csrfToken, expiresAt: new Date(expiresAt).toISOString() }
    },
    signOut: (_, { identity, setCookie }) => {
      access.signOut(identity)
      setCookie(undefined)
      return null
    },
  }
}
