import type { DurableEvent } from '@matrix/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { answered, called, compacted, consumed, marker, message, readAll, said, stamp } from './contract-case.ts'
import type { EventStore } from './event-store.ts'
import { findIdentity } from './fork.ts'
import { openJsonlEventStore } from './jsonl-event-store.ts'
import { findOrphanedToolCalls } from './orphaned-tool-call.ts'
import { findPendingMessages } from './pending-message.ts'
import { simulateDisk } from './simulated-file-system.ts'

test('a fork up to any event is the fork of a session that ended there', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.nat(), async (events, pick) => {
      const upTo = 1 + (pick % events.length)
      const store = await openJsonlEventStore('/data', { fileSystem: simulateDisk(1).boot() })
      await begin(store, 'a', events)
      const forked = await fork(store, 'a', 'fork', { upTo })
      await store.close()

      const other = await openJsonlEventStore('/data', { fileSystem: simulateDisk(1).boot() })
      await begin(other, 'a', events.slice(0, upTo))
      expect(forked).toEqual(await fork(other, 'a', 'fork'))
      expect(findOrphanedToolCalls(forked)).toEqual([])
      expect(findPendingMessages(forked)).toEqual([])
      expect(findIdentity(forked)).toMatchObject({ taskId: 'fork', sourceTaskId: 'a', sourceSeq: upTo })
      await other.close()
    }),
    { numRuns: 60 },
  )
})

const name = fc.constantFrom('1', '2', '3')
const history = fc.array(
  fc.oneof(
    name.map(message),
    name.map((id) => consumed(id)),
    name.map(called),
    name.map((id) => answered(id)),
    name.map(compacted),
    // Long enough for the active part to lie in another piece of the file than its end.
    fc.constant(said('x'.repeat(60_000))),
    fc.constant<DurableEvent>({ type: 'fork_marker', ...stamp, ...marker('t'), sourceTaskId: 'o' }),
  ),
  { minLength: 1, maxLength: 30 },
)

async function begin(store: EventStore, sessionId: string, events: DurableEvent[]): Promise<void> {
  const fence = await store.claim(sessionId, 'me')
  await store.append(sessionId, fence, events)
}

async function fork(
  store: EventStore,
  source: string,
  target: string,
  options?: { upTo: number },
): Promise<DurableEvent[]> {
  await store.copySessionFrom(source, target, await store.claim(target, 'me'), marker(target), options)
  return (await readAll(store, target)) as DurableEvent[]
}
