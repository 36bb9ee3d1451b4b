import type { KeyObject } from 'node:crypto'
import { readFile, rename } from 'node:fs/promises'
import { MatrixError } from '@matrix/protocol'
import { PublicJwk } from '@matrix/protocol/http'
import * as z from 'zod'
import { replaceOwnFile } from '../owner-only.ts'
import { type DeviceJwk, readDeviceKey } from './device-key.ts'

const Device = z.object({
  id: z.string(),
  name: z.string(),
  key: PublicJwk,
  enrolledAt: z.iso.datetime(),
  lastSeenAt: z.iso.datetime().nullable(),
})
const DevicesFile = z.object({ version: z.literal(1), devices: z.array(Device) })
export type Device = z.infer<typeof Device>

export type Devices = {
  list(): Device[]
  findKey(id: string): KeyObject | undefined
  add(device: { id: string; name: string; key: DeviceJwk }): Promise<Device>
  seen(id: string): Promise<void>
  remove(id: string): Promise<void>
  /** Waits for what is still being written. */
  close(): Promise<void>
}

/** The devices that may sign in, kept in a file. A file that cannot be read is put aside: enrolling anew is easy. */
export async function openDevices(
  file: string,
  { now, onDamage }: { now(): number; onDamage(asideFile: string): void },
): Promise<Devices> {
  let devices = await load(file, onDamage)
  const keys = new Map(devices.map((device) => [device.id, readDeviceKey(device.key).key]))

  let tail: Promise<unknown> = Promise.resolve()
  /** One change after the other, each on disk before it holds. */
  const change = (next: (current: Device[]) => Device[]): Promise<void> => {
    const done = tail.then(async () => {
      const changed = next(devices)
      await replaceOwnFile(file, `${JSON.stringify({ version: 1, devices: changed }, null, 2)}\n`)
      devices = changed
    })
    tail = done.catch(() => {})
    return done
  }
  const timestamp = () => new Date(now()).toISOString()

  return {
    list: () => devices,
    findKey: (id) => keys.get(id),
    async add({ id, name, key }) {
      const device: Device = { id, name, key, enrolledAt: timestamp(), lastSeenAt: null }
      await change((current) => [...current.filter((other) => other.id !== id), device])
      keys.set(id, readDeviceKey(key).key)
      return device
    },
    seen: (id) =>
      change((current) =>
        current.map((device) => (device.id === id ? { ...device, lastSeenAt: timestamp() } : device)),
      ),
    async remove(id) {
      if (!devices.some((device) => device.id === id))
        throw new MatrixError('DEVICE_UNKNOWN', `No device ${id.slice(0, 16)}.`)
      // Whatever the disk says, the device is out from now on; while it is in the list, it can be removed again.
      keys.delete(id)
      await change((current) => current.filter((device) => device.id !== id))
    },
    close: async () => void (await tail),
  }
}

async function load(file: string, onDamage: (asideFile: string) => void): Promise<Device[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return []
  try {
    const { devices } = DevicesFile.parse(JSON.parse(text))
    for (const { key } of devices) readDeviceKey(key)
    return devices
  } catch {
    const aside = `${file}.damaged`
    await rename(file, aside)
    onDamage(aside)
    return []
  }
}
