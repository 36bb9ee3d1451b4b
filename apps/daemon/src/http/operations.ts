import type { Orchestrator, ServedOperation } from '@matrix/orchestrator'
import type { Operation, RouteOutput, RouteRequest, Routes } from '@matrix/protocol/http'
import type { Access, Identity } from '../access/access.ts'

/** Who makes a request, from where, and how the answer gives a browser its cookie. */
export type Caller = {
  identity: Identity
  origin: string
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
    enrolDevice: ({ body }) => access.enrol(body),
    confirmDevice: ({ params }) => access.confirm(params.deviceId),
    listDevices: (_, { identity }) => access.list(identity),
    revokeDevice: async ({ params }) => {
      await access.revoke(params.deviceId)
      return null
    },
    challenge: ({ body }) => access.challenge(body.deviceId),
    answerChallenge: async ({ body }, { origin, cookie, setCookie }) => {
      const { sessionId, csrfToken, expiresAt } = await access.signIn({ ...body, origin, cookie })
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
