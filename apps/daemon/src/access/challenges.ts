import { createHmac, createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { MatrixError } from '@matrix/protocol'
import { loginProofText } from '@matrix/protocol/http'
import { encryptRiddle } from './device-key.ts'
import { isSameSecret } from './secret.ts'

const lifetimeMs = 60_000

export type Challenges = {
  /** A riddle for a device. Whether the device is known cannot be told from it. */
  pose(deviceId: string): { challengeId: string; ciphertext: string }
  /** Whether this daemon posed the challenge to this device less than a minute ago. */
  isPosed(challengeId: string, deviceId: string): boolean
  /** Throws unless the riddle was solved by this device for this origin, in time and for the first time. */
  check(answer: { challengeId: string; deviceId: string; proof: string; origin: string }): void
}

/** A challenge carries its own expiry and seal, so posing one keeps nothing in memory: no flood can use it up. */
export function openChallenges(
  findKey: (deviceId: string) => KeyObject | undefined,
  { elapsed }: { elapsed(): number },
): Challenges {
  const key = randomBytes(32)
  const answered = new Map<string, number>()
  const decoy = createDecoy()

  const seal = (purpose: 'id' | 'nonce', text: string, deviceId: string) =>
    createHmac('sha256', key).update(`${purpose}|${text}|${deviceId}`).digest()

  function expiryOf(challengeId: string, deviceId: string): number {
    const [random = '', expiresAt = '', given = ''] = challengeId.split('.')
    const isOurs = isSameSecret(given, seal('id', `${random}.${expiresAt}`, deviceId).toString('base64url'))
    return isOurs ? Number.parseInt(expiresAt, 36) : 0
  }

  const isPosed = (challengeId: string, deviceId: string) => expiryOf(challengeId, deviceId) > elapsed()

  return {
    pose(deviceId) {
      const expiresAt = Math.ceil(elapsed() + lifetimeMs)
        .toString(36)
        .padStart(9, '0')
      const text = `${randomBytes(16).toString('base64url')}.${expiresAt}`
      const challengeId = `${text}.${seal('id', text, deviceId).toString('base64url')}`
      const nonce = seal('nonce', challengeId, deviceId)
      return { challengeId, ciphertext: encryptRiddle(findKey(deviceId) ?? decoy, nonce).toString('base64') }
    },
    isPosed,
    check({ challengeId, deviceId, proof, origin }) {
      for (const [id, expiresAt] of answered) if (expiresAt <= elapsed()) answered.delete(id)
      const isFirst = isPosed(challengeId, deviceId) && !answered.has(challengeId)
      // Used up by the first answer, right or wrong. Only genuine challenges of known devices are remembered.
      if (isFirst && findKey(deviceId)) answered.set(challengeId, expiryOf(challengeId, deviceId))
      const expected = createHmac('sha256', seal('nonce', challengeId, deviceId))
        .update(loginProofText(challengeId, deviceId, origin))
        .digest('base64')
      const isSolved = isSameSecret(proof, expected)
      if (!isSolved || !isFirst || !findKey(deviceId))
        // Never why: a guess learns nothing.
        throw new MatrixError('AUTH_FAILED', 'Signing in did not work.')
    },
  }
}

/**
 * A key for devices that nobody knows. Its modulus is no product of two primes but any number of that size: nobody can
 * decrypt with it, nobody can tell, and it costs nothing to make.
 */
function createDecoy(): KeyObject {
  const modulus = randomBytes(384)
  modulus.writeUInt8(modulus.readUInt8(0) | 0x80, 0)
  modulus.writeUInt8(modulus.readUInt8(383) | 1, 383)
  return createPublicKey({ key: { kty: 'RSA', n: modulus.toString('base64url'), e: 'AQAB' }, format: 'jwk' })
}
