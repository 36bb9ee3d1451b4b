import { constants, createPublicKey, type KeyObject, publicEncrypt } from 'node:crypto'
import { MatrixError } from '@matrix/protocol'
import { loginLabel } from '@matrix/protocol/http'
import { digestOf } from './secret.ts'

export type DeviceJwk = { kty: 'RSA'; n: string; e: string; alg?: 'RSA-OAEP-256' | undefined }

/** A device's public key and its id, the SHA-256 of the key. Weak keys are refused. */
export function readDeviceKey({ n, e }: DeviceJwk): { id: string; key: KeyObject } {
  const key = importKey(n, e)
  const { modulusLength = 0, publicExponent } = key.asymmetricKeyDetails ?? {}
  if (modulusLength < 3072 || modulusLength > 8192 || publicExponent !== 65537n)
    throw new MatrixError('REQUEST_INVALID', 'The key must be RSA with 3072 to 8192 bits and the exponent 65537.', {
      field: 'body.key',
    })
  return { id: digestOf(key.export({ type: 'spki', format: 'der' })), key }
}

/** Only the device can read it, and only for signing in. */
export function encryptRiddle(key: KeyObject, nonce: Buffer): Buffer {
  return publicEncrypt(
    // Both hashes of OAEP are SHA-256 this way; left out, it would be SHA-1.
    { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256', oaepLabel: Buffer.from(loginLabel) },
    nonce,
  )
}

function importKey(n: string, e: string): KeyObject {
  try {
    return createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' })
  } catch (error) {
    throw new MatrixError('REQUEST_INVALID', 'The key cannot be read.', { field: 'body.key', cause: error })
  }
}
