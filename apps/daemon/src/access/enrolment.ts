import { randomInt } from 'node:crypto'
import { MatrixError } from '@matrix/protocol'
import { type DeviceJwk, readDeviceKey } from './device-key.ts'
import { digestOf, isSameSecret } from './secret.ts'

/** Crockford's base 32: nothing in it is mistaken for something else. Ten of them are 50 bits. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const codeLength = 10
const windowMs = 5 * 60_000
const mostTries = 5
/** Of all sources together; of 50 bits, they guess none. */
const mostTriesTogether = 500

export type WaitingDevice = { id: string; name: string; key: DeviceJwk }

export type Enrolment = {
  /**
   * Opens the window for one device; a window that was open is closed. With `trusted`, the device that hands in the code needs
   * no confirmation: only for a code that went nowhere but to the terminal of the person who started the daemon.
   */
  open(options: { trusted: boolean }): { code: string; validMs: number }
  /** Uses the code up. */
  handIn(code: string, device: { name: string; key: DeviceJwk; source: string }): WaitingDevice & { trusted: boolean }
  waiting(): WaitingDevice[]
  /** Takes a waiting device out, to be enrolled. */
  confirm(id: string): WaitingDevice
  /** Sends a waiting device away; answers whether there was one. */
  dismiss(id: string): boolean
}

/** How a new device becomes known: a one-time code proves that its user has the terminal, a look at the fingerprint that it is theirs. */
export function openEnrolment({ elapsed }: { elapsed(): number }): Enrolment {
  let window: { digest: string; expiresAt: number; tries: Map<string, number>; trusted: boolean } | undefined
  const waiting = new Map<string, WaitingDevice & { expiresAt: number }>()

  const stillWaiting = () => {
    for (const [id, { expiresAt }] of waiting) if (expiresAt <= elapsed()) waiting.delete(id)
    return waiting
  }

  return {
    open({ trusted }) {
      const code = Array.from({ length: codeLength }, () => alphabet[randomInt(alphabet.length)]).join('')
      window = { digest: digestOf(code), expiresAt: elapsed() + windowMs, tries: new Map(), trusted }
      return { code, validMs: windowMs }
    },
    handIn(code, { name, key, source }) {
      // A source that guessed too often is told the same: its guesses close the window for itself only.
      const tries = window?.tries.get(source) ?? 0
      if (!window || window.expiresAt <= elapsed() || tries >= mostTries)
        throw refused('No code is valid at the moment.')
      window.tries.set(source, tries + 1)
      const isRight = isSameSecret(digestOf(normalise(code)), window.digest)
      if (!isRight && sumOf(window.tries) >= mostTriesTogether) window = undefined
      if (!isRight || !window) throw refused('The code is not right.')

      const { id } = readDeviceKey(key)
      const { trusted } = window
      window = undefined
      if (!trusted) waiting.set(id, { id, name, key, expiresAt: elapsed() + windowMs })
      return { id, name, key, trusted }
    },
    waiting: () => [...stillWaiting().values()],
    confirm(id) {
      const device = stillWaiting().get(id)
      if (!device) throw new MatrixError('DEVICE_UNKNOWN', `No device ${id.slice(0, 16)} waits to be confirmed.`)
      waiting.delete(id)
      return device
    },
    dismiss: (id) => waiting.delete(id),
  }
}

/** As people type it: small letters, spaces and dashes, O for 0, I and L for 1. */
function normalise(code: string): string {
  return code.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1')
}

function refused(message: string): MatrixError {
  return new MatrixError('AUTH_FAILED', message, { hint: 'Run matrix device add to get a new code.' })
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0)
}
