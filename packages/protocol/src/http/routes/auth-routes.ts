import * as z from 'zod'
import { DeviceId, DeviceView, PublicJwk } from '../device.ts'
import { route } from '../route.ts'

export const authRoutes = {
  openEnrolment: route('POST /api/auth/enrolment', 'auth', 'Opens five minutes in which one device can be added', {
    access: 'local',
    response: z.object({ code: z.string(), expiresAt: z.iso.datetime() }),
  }),
  enrolDevice: route('POST /api/auth/devices', 'auth', 'Hands in the code and the public key of a new device', {
    access: 'open',
    body: z.object({ code: z.string().max(40), name: z.string().trim().min(1).max(100), key: PublicJwk }),
    response: z.object({ deviceId: z.string(), state: z.enum(['waiting', 'enrolled']) }),
  }),
  confirmDevice: route(
    'POST /api/auth/devices/:deviceId/confirm',
    'auth',
    'Says that the fingerprint is the one on the screen',
    {
      access: 'local',
      params: z.object({ deviceId: DeviceId }),
      response: DeviceView,
    },
  ),
  listDevices: route('GET /api/auth/devices', 'auth', 'Devices that may sign in', { response: z.array(DeviceView) }),
  revokeDevice: route('DELETE /api/auth/devices/:deviceId', 'auth', 'Signs a device out for good', {
    params: z.object({ deviceId: DeviceId }),
  }),
  challenge: route('POST /api/auth/challenge', 'auth', 'Asks for a riddle that only the device can solve', {
    access: 'open',
    body: z.object({ deviceId: DeviceId }),
    response: z.object({ challengeId: z.string(), ciphertext: z.base64() }),
  }),
  answerChallenge: route('POST /api/auth/answer', 'auth', 'Solves the riddle and signs in', {
    access: 'open',
    body: z.object({ challengeId: z.string().max(100), deviceId: DeviceId, proof: z.base64() }),
    response: z.object({ csrfToken: z.string(), expiresAt: z.iso.datetime() }),
  }),
  signOut: route('POST /api/auth/sign-out', 'auth', 'Ends this session', {}),
} as const
