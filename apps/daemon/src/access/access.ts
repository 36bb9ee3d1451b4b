import type { IncomingMessage } from 'node:http'
import { MatrixError } from '@matrix/protocol'
import type { Access as AccessNeed, DeviceView } from '@matrix/protocol/http'
import { openChallenges } from './challenges.ts'
import { type Device, type Devices, openDevices } from './devices.ts'
import { openEnrolment } from './enrolment.ts'
import { openLimit } from './limit.ts'
import { isSameSecret } from './secret.ts'
import { openSessions, type Session, type SessionOptions, type SignedIn } from './sessions.ts'

/** Who is asking: a program of the daemon's own user, a device that has signed in, or nobody known. */
export type Identity = { kind: 'local' } | { kind: 'device'; session: Session } | { kind: 'nobody' }

type DeviceKey = Parameters<Devices['add']>[0]['key']

export type Access = {
  /** Throws unless the identity may use what needs this access. */
  admit(need: AccessNeed, identity: Identity): void
  identify(request: IncomingMessage, cookie: string | undefined): Identity
  /** Whether whoever was admitted earlier would still be. */
  holds(identity: Identity): boolean
  openEnrolment(options: { trusted: boolean }): { code: string; expiresAt: string }
  enrol(request: {
    code: string
    name: string
    key: DeviceKey
    source: string
  }): Promise<{ deviceId: string; state: 'waiting' | 'enrolled' }>
  confirm(deviceId: string): Promise<DeviceView>
  list(identity: Identity): DeviceView[]
  revoke(deviceId: string): Promise<void>
  /** Waits for what is still being written. */
  close(): Promise<void>
  challenge(request: { deviceId: string; source: string }): { challengeId: string; ciphertext: string }
  signIn(answer: {
    challengeId: string
    deviceId: string
    proof: string
    origin: string
    source: string
    cookie: string | undefined
  }): Promise<SignedIn>
  signOut(identity: Identity): void
}

export type AccessOptions = {
  devicesFile: string
  /** The token of this start, for programs of the daemon's own user. */
  token: string
  now?(): number
  /** Milliseconds since some moment, whatever the clock is set to. */
  elapsed?(): number
  sessionLimits?: SessionOptions['limits']
  /** Told what a person may want to read in the log. */
  report(message: string, facts?: Record<string, unknown>): void
  /** Told whenever somebody may have lost the right to listen. */
  onLoss(): void
}

/** Who may ask for what: devices, how they are enrolled, and how they sign in. */
export async function openAccess(options: AccessOptions): Promise<Access> {
  const { devicesFile, token, report, onLoss, sessionLimits = {} } = options
  const { now = Date.now, elapsed = () => performance.now() } = options
  const devices = await openDevices(devicesFile, {
    now,
    onDamage: (aside) =>
      report(`The list of devices could not be read and was put aside as ${aside}: enrol them again.`),
  })
  const enrolment = openEnrolment({ elapsed })
  const challenges = openChallenges(devices.findKey, { elapsed })
  const sessions = openSessions({ now, limits: sessionLimits })
  const limits = {
    codes: openLimit('codes', { perSource: 10, together: 600, elapsed }),
    strangers: openLimit('sign-ins', { perSource: 64, together: 1200, elapsed }),
    // Enrolled devices have their own share, counted for each of them, which no stranger can use up.
    devices: openLimit('sign-ins', { perSource: 60, together: 1200, elapsed }),
  }
  const limit = (source: string, deviceId: string, isDevice: boolean) =>
    isDevice ? limits.devices.take(`${deviceId} ${source}`) : limits.strangers.take(source)

  const add = async (device: { id: string; name: string; key: DeviceKey }) => {
    const added = await devices.add(device)
    report('A device was enrolled.', { deviceId: device.id, name: device.name })
    return added
  }

  return {
    close: devices.close,
    admit(need, identity) {
      if (need === 'open' || identity.kind === 'local') return
      if (identity.kind === 'nobody') throw new MatrixError('AUTH_REQUIRED', 'Nobody is signed in.')
      if (need === 'local')
        throw new MatrixError('AUTH_FAILED', 'Only the command line on the machine of the daemon may do this.', {
          hint: 'Use matrix device add there.',
        })
    },
    identify({ headers }, cookie) {
      const bearer = headers.authorization?.match(/^Bearer (\S+)$/)?.[1]
      if (bearer !== undefined && isSameSecret(bearer, token)) return { kind: 'local' }
      const csrf = headers['x-matrix-csrf']
      const session = sessions.find(cookie, typeof csrf === 'string' ? csrf : undefined)
      return session ? { kind: 'device', session } : { kind: 'nobody' }
    },
    holds: (identity) => identity.kind === 'local' || (identity.kind === 'device' && sessions.holds(identity.session)),
    openEnrolment(options) {
      const { code, validMs } = enrolment.open(options)
      return { code, expiresAt: new Date(now() + validMs).toISOString() }
    },
    async enrol({ code, name, key, source }) {
      limits.codes.take(source)
      const device = enrolment.handIn(code, { name, key, source })
      if (device.trusted) await add(device)
      return { deviceId: device.id, state: device.trusted ? 'enrolled' : 'waiting' }
    },
    confirm: async (deviceId) => viewOf(await add(enrolment.confirm(deviceId)), undefined),
    list: (identity) => [
      ...devices.list().map((device) => viewOf(device, identity)),
      ...enrolment.waiting().map(({ id, name }) => ({
        id,
        name,
        state: 'waiting' as const,
        enrolledAt: null,
        lastSeenAt: null,
        isThisOne: false,
      })),
    ],
    async revoke(deviceId) {
      if (enrolment.dismiss(deviceId)) return
      sessions.endAll(deviceId)
      onLoss()
      await devices.remove(deviceId)
      report('A device was revoked.', { deviceId })
    },
    challenge({ deviceId, source }) {
      limit(source, deviceId, devices.findKey(deviceId) !== undefined)
      return challenges.pose(deviceId)
    },
    async signIn({ cookie, source, ...answer }) {
      const { challengeId, deviceId } = answer
      const isDevice = devices.findKey(deviceId) !== undefined && challenges.isPosed(challengeId, deviceId)
      limit(source, deviceId, isDevice)
      challenges.check(answer)
      // A full disk must not keep anyone from coming in to see it.
      devices
        .seen(answer.deviceId)
        .catch((error: Error) => report(`When a device was seen is not saved: ${error.message}`))
      report('A device signed in.', { deviceId: answer.deviceId })
      return sessions.start(answer.deviceId, cookie)
    },
    signOut(identity) {
      if (identity.kind === 'device') sessions.end(identity.session)
      onLoss()
    },
  }
}

function viewOf({ id, name, enrolledAt, lastSeenAt }: Device, identity: Identity | undefined): DeviceView {
  const isThisOne = identity?.kind === 'device' && identity.session.deviceId === id
  return { id, name, state: 'enrolled', enrolledAt, lastSeenAt, isThisOne }
}
