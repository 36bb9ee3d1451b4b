import * as z from 'zod'

/** An RSA public key as a browser exports it. */
export const PublicJwk = z.object({
  kty: z.literal('RSA'),
  n: z.string().min(1).max(2048),
  e: z.string().min(1).max(16),
  alg: z.literal('RSA-OAEP-256').optional(),
})

/** The SHA-256 of a device's public key. */
export const DeviceId = z.string().regex(/^[0-9a-f]{64}$/, 'a device id is 64 hexadecimal digits')

export const DeviceView = z.object({
  id: DeviceId,
  name: z.string(),
  state: z.enum(['waiting', 'enrolled']),
  enrolledAt: z.iso.datetime().nullable(),
  lastSeenAt: z.iso.datetime().nullable(),
  isThisOne: z.boolean(),
})
export type DeviceView = z.infer<typeof DeviceView>
