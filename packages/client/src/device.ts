import { MatrixError } from '@matrix/protocol'
import { loginLabel, loginProofText } from '@matrix/protocol/http'
import type { Client } from './client.ts'

const algorithm = { name: 'RSA-OAEP', modulusLength: 3072, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }

// What a browser and Node call CryptoKey, each in types of its own.
export type DeviceKey = Parameters<typeof crypto.subtle.exportKey>[1]
export type DeviceKeyPair = { publicKey: DeviceKey; privateKey: DeviceKey }

/** A new key for this device. Its private half can be used here (keep it in IndexedDB) and never be read. */
export function createDeviceKey(): Promise<DeviceKeyPair> {
  return crypto.subtle.generateKey(algorithm, false, ['encrypt', 'decrypt'])
}

/** Hands in the one-time code and the public key. A device that is `waiting` may sign in once it was confirmed. */
export async function enrolDevice(
  client: Client,
  { code, name, key }: { code: string; name: string; key: DeviceKey },
): Promise<{ deviceId: string; state: 'waiting' | 'enrolled' }> {
  const { n, e } = await crypto.subtle.exportKey('jwk', key)
  return client.enrolDevice({ body: { code, name, key: { kty: 'RSA', n: n ?? '', e: e ?? '', alg: 'RSA-OAEP-256' } } })
}

/** Solves a riddle that only this device can, for this origin only. The cookie comes by itself; the CSRF token is the answer. */
export async function signIn(
  client: Client,
  { deviceId, key, origin }: { deviceId: string; key: DeviceKey; origin: string },
): Promise<{ csrfToken: string; expiresAt: string }> {
  const { challengeId, ciphertext } = await client.challenge({ body: { deviceId } })
  const label = new TextEncoder().encode(loginLabel)
  const nonce = await crypto.subtle.decrypt({ name: 'RSA-OAEP', label }, key, fromBase64(ciphertext)).catch((cause) => {
    // A riddle that this key cannot solve was made for a device that the daemon does not know.
    throw new MatrixError('AUTH_FAILED', 'The daemon does not know this device.', { cause })
  })
  const signing = await crypto.subtle.importKey('raw', nonce, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const text = new TextEncoder().encode(loginProofText(challengeId, deviceId, origin))
  const proof = toBase64(new Uint8Array(await crypto.subtle.sign('HMAC', signing, text)))
  return client.answerChallenge({ body: { challengeId, deviceId, proof } })
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}
