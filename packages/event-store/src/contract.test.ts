import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, onTestFinished, test } from 'vitest'
import { eventStoreContract } from './contract.ts'
import { openJsonlEventStore } from './jsonl-event-store.ts'
import { openEventStore } from './open-event-store.ts'
import { simulateDisk } from './simulated-file-system.ts'

describe('on a real disk', () => {
  test.each(eventStoreContract)('$name', async ({ run }) => {
    const directory = await temporary()
    await run(() => openJsonlEventStore(directory))
  })
})

describe('with an index', () => {
  test.each(eventStoreContract)('$name', async ({ run }) => {
    const directory = await temporary()
    await run(() => openEventStore(directory))
  })
})

describe('relaxed', () => {
  test.each(eventStoreContract)('$name', async ({ run }) => {
    const directory = await temporary()
    await run(() => openJsonlEventStore(directory, { durability: 'relaxed' }))
  })
})

describe('on a simulated disk', () => {
  test.each(eventStoreContract)('$name', async ({ run }) => {
    const disk = simulateDisk(1)
    await run(() => openJsonlEventStore('/data', { fileSystem: disk.boot() }))
  })
})

async function temporary(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'event-store-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}
