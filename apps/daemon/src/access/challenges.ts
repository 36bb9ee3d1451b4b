import { createHmac, createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { MatrixError } from '@matrix/protocol'
import { loginProofText } from '@matrix/protocol/http'
import { encryptRiddle } from './device-key.ts'
import { createSecret, isSameSecret } from './secret.ts'

const lifetimeMs = 60_000
const mostOutstanding = 64

export type Challenges = {
  /** A riddle for a device. Whether the device is known cannot be told from it. */
  pose(deviceId: string): { challengeId: string; ciphertext: string }
  /** Throws unless the riddle was solved by this device for this origin, in time and for the first time. */
  check(answer: { challengeId: string; deviceId: string; proof: string; origin: string }): void
}

export function openChallenges(
  findKey: (deviceId: string) => KeyObject | undefined,
  { elapsed }: { elapsed(): number },
): Challenges {
  const outstanding = new Map<string, { deviceId: string; nonce: Buffer; expiresAt: number }>()
  const decoy = createDecoy()

  return {
    pose(deviceId) {
      for (const [id, { expiresAt }] of outstanding) if (expiresAt <= elapsed()) outstanding.delete(id)
      if (outstanding.size >= mostOutstanding)
        throw new MatrixError('RATE_LIMITED', 'Too many sign-ins have been started at once.')

      const key = findKey(deviceId) ?? decoy
      const challengeId = createSecret()
      const nonce = randomBytes(32)
      outstanding.set(challengeId, { deviceId, nonce, expiresAt: elapsed() + lifetimeMs })
      return { challengeId, ciphertext: encryptRiddle(key, nonce).toString('base64') }
    },
    check({ challengeId, deviceId, proof, origin }) {
      const challenge = outstanding.get(challengeId)
      // Used up by the first answer, right or wrong.
      outstanding.delete(challengeId)
      const { nonce, expiresAt } = challenge ?? { nonce: randomBytes(32), expiresAt: 0 }
      const expected = createHmac('sha256', nonce)
        .update(loginProofText(challengeId, deviceId, origin))
        .digest('base64')
      const isSolved = isSameSecret(proof, expected)
      if (!isSolved || challenge?.deviceId !== deviceId || expiresAt <= elapsed() || !findKey(deviceId))
        // Never why: whoever guesses learns nothing.
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
