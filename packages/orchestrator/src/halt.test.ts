import { openJsonlEventStore } from '@matrix/event-store'
import { simulateDisk } from '@matrix/event-store/testing'
import { MatrixError } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { blockTask } from './halt.ts'
import type { ProjectContext } from './project-context.ts'
import { openSessionLog } from './session-log.ts'

test('on a full disk, the room that was held back is used to say why work stopped', async () => {
  const disk = simulateDisk(1)
  const store = await openJsonlEventStore('/data/sessions', { fileSystem: disk.boot() })
  const log = openSessionLog(store, { owner: 'me', label: async (_, events) => events, onStored() {} })
  const ts = '2026-01-01T00:00:00.000Z'
  await log.append('t', [{ type: 'notice', taskId: 't', ts, text: 'Begin.' }])
  disk.setCapacity(1)
  const spend = async () => {
    disk.setCapacity(Number.POSITIVE_INFINITY)
    return true
  }
  const ctx = {
    log,
    store: { reserve: { spend } },
    halted: new Map(),
    room: { begin() {} },
    world: { clock: { now: () => 0 } },
    tree: { find: () => undefined },
  } as unknown as ProjectContext
  await expect(log.append('t', [{ type: 'notice', taskId: 't', ts, text: 'x'.repeat(5_000) }])).rejects.toMatchObject({
    code: 'STORAGE_FULL',
  })

  await new Promise((resolve) => setImmediate(resolve))
  await blockTask(ctx, 't', new MatrixError('STORAGE_FULL', 'No room.'))
  expect((await log.readActive('t')).map(({ type }) => type)).toEqual(['notice', 'error'])
  await store.close()
})
