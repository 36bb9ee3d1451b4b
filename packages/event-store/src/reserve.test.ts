import type { DurableEvent } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { openJsonlEventStore } from './jsonl-event-store.ts'
import { openReserve } from './reserve.ts'
import { simulateDisk } from './simulated-file-system.ts'

const size = 3 * 1024 * 1024

test('on a full disk the reserve makes room for what still has to be said, and is taken back when there is room', async () => {
  const disk = simulateDisk(1)
  const fileSystem = disk.boot()
  const reserve = await openReserve(fileSystem, '/data/reserve', size)
  expect(await reserve.refill()).toBe(true)
  const store = await openJsonlEventStore('/data/sessions', { fileSystem })
  const fence = await store.claim('s', 'me')
  await store.append('s', fence, [said('working')])
  disk.setCapacity(size + 400)
  await expect(store.append('s', fence, [said('x'.repeat(1000))])).rejects.toMatchObject({ code: 'STORAGE_FULL' })

  // What is sent in the same moment as a failure fails with it.
  await new Promise((resolve) => setImmediate(resolve))
  expect(await reserve.spend()).toBe(true)
  await store.append('s', fence, [said('parked: the disk is full')])
  expect(await reserve.refill()).toBe(false)
  expect([reserve.isHeld(), await reserve.spend()]).toEqual([false, false])

  disk.setCapacity(Number.POSITIVE_INFINITY)
  expect(await reserve.refill()).toBe(true)
  expect(disk.readNow('/data/reserve')?.byteLength).toBe(size)
})

test('there is room again when the reserve fits and as much beside it, whether it is held or not', async () => {
  const disk = simulateDisk(4)
  const reserve = await openReserve(disk.boot(), '/data/reserve', size)
  disk.setCapacity(2 * size - 1)
  expect(await reserve.hasRoom()).toBe(false)
  await reserve.refill()
  expect(await reserve.hasRoom()).toBe(false)
  disk.setCapacity(2 * size)
  expect(await reserve.hasRoom()).toBe(true)
  await reserve.spend()
  expect(await reserve.hasRoom()).toBe(true)
})

test('what was reserved is held by the next process too, after a power cut', async () => {
  const disk = simulateDisk(2)
  await (await openReserve(disk.boot(), '/data/reserve', size)).refill()
  disk.crashNow('power')

  expect((await openReserve(disk.boot(), '/data/reserve', size)).isHeld()).toBe(true)
})

test('a reserve that does not fit leaves nothing of itself', async () => {
  const disk = simulateDisk(3)
  disk.setCapacity(size - 1)
  const reserve = await openReserve(disk.boot(), '/data/reserve', size)

  expect(await reserve.refill()).toBe(false)
  expect(disk.names()).toEqual([])
})

function said(text: string): DurableEvent {
  return { type: 'assistant_text', taskId: 't', ts: '2026-01-01T00:00:00.000Z', text }
}
