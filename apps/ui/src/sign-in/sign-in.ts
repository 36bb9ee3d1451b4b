import { createDeviceKey, enrolDevice, signIn as signInWith } from '@matrix/client'
import { create } from 'zustand'
import { client, csrfToken } from '../live/client.ts'
import { describeFailure } from '../parts/failure.ts'
import { type DeviceKey, forgetDeviceKey, keepDeviceKey, readDeviceKey } from './device-key.ts'

/**
 * Where signing in stands: `unknown-device` needs a code, `waiting` a word on the machine where the daemon runs, and `no-crypto`
 * another address, since browsers hand out keys only on safe ones.
 */
export type SignInPhase =
  | 'checking'
  | 'signed-in'
  | 'unknown-device'
  | 'enrolling'
  | 'waiting'
  | 'unreachable'
  | 'no-crypto'

type SignIn = { phase: SignInPhase; deviceId: string | null; error: unknown }

export const useSignIn = create<SignIn>(() => ({ phase: 'checking', deviceId: null, error: undefined }))

/** Signs in with what is there: the session of this tab, the key of this browser, or the code in the address. */
export async function signIn(): Promise<void> {
  if (!globalThis.crypto?.subtle) return show('no-crypto')
  show('checking')
  try {
    if (csrfToken.read() && (await isSignedIn())) return show('signed-in')
    const device = await readDeviceKey()
    if (device && (await answerWith(device))) return show('signed-in')
    const code = takeCode()
    if (code) return await enrol(code, suggestName())
    show('unknown-device')
  } catch (error) {
    useSignIn.setState({ phase: 'unreachable', error })
  }
}

/** Makes a key, hands in the code, and waits until somebody at the daemon's machine has agreed. */
export async function enrol(code: string, name: string): Promise<void> {
  show('enrolling')
  try {
    const { publicKey, privateKey } = await createDeviceKey()
    const { deviceId, state } = await enrolDevice(client, { code: code.trim(), name, key: publicKey })
    const device = { deviceId, name, privateKey }
    await keepDeviceKey(device)
    if (state === 'waiting') await untilConfirmed(device)
    else await answerWith(device)
    show('signed-in')
  } catch (error) {
    useSignIn.setState({ phase: 'unknown-device', error })
  }
}

export async function signOut(): Promise<void> {
  await client.signOut()
  csrfToken.forget()
  location.assign('/')
}

function show(phase: SignInPhase): void {
  useSignIn.setState({ phase, error: undefined })
}

async function isSignedIn(): Promise<boolean> {
  try {
    await client.getStatus()
    return true
  } catch (error) {
    if (isRefusal(error)) return false
    throw error
  }
}

async function answerWith(device: DeviceKey): Promise<boolean> {
  const { deviceId, privateKey: key } = device
  try {
    const answer = await signInWith(client, { deviceId, key, origin: location.origin })
    csrfToken.keep(answer.csrfToken)
    return true
  } catch (error) {
    // A riddle that this key cannot solve was made for another: the device is not known there (any more).
    if (error instanceof DOMException || isRefusal(error)) return false
    throw error
  }
}

/** The window for a new device is open for five minutes; asking gets slower the longer nobody answers. */
async function untilConfirmed(device: DeviceKey): Promise<void> {
  useSignIn.setState({ phase: 'waiting', deviceId: device.deviceId, error: undefined })
  const end = Date.now() + 5 * 60_000
  let pauseMs = 1000
  while (Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    if (await answerWith(device)) return
    pauseMs = Math.min(5000, pauseMs * 1.3)
  }
  await forgetDeviceKey()
  throw new Error('Nobody confirmed this device in time. Ask for a new code with matrix device add.')
}

function isRefusal(error: unknown): boolean {
  const { code } = describeFailure(error)
  return code === 'AUTH_REQUIRED' || code === 'AUTH_FAILED'
}

/** The code stands in the fragment, which is never sent anywhere, and leaves the address before anybody can bookmark it. */
function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('enrol')
  if (!code) return undefined
  history.replaceState(history.state, '', location.pathname + location.search)
  return code
}

/** How this browser is called in the list of devices. */
export function suggestName(agent: string = navigator.userAgent): string {
  const find = (names: readonly (readonly [RegExp, string])[], otherwise: string) =>
    names.find(([shape]) => shape.test(agent))?.[1] ?? otherwise
  return `${find(browsers, 'Browser')} on ${find(systems, 'this machine')}`
}

// Each claims to be the ones below it.
const browsers = [
  [/Edg\//, 'Edge'],
  [/Firefox\//, 'Firefox'],
  [/Chrom(e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const
const systems = [
  [/iPhone|iPad/, 'iPhone'],
  [/Android/, 'Android'],
  [/Mac OS/, 'macOS'],
  [/Windows/, 'Windows'],
  [/Linux/, 'Linux'],
] as const
