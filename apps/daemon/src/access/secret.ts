import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 random bits, fit for a header, a cookie and a file. */
export function createSecret(): string {
  return randomBytes(32).toString('base64url')
}

export function digestOf(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Takes as long for a wrong guess as for a right one, whatever their lengths. */
export function isSameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(Buffer.from(digestOf(given)), Buffer.from(digestOf(expected)))
}
