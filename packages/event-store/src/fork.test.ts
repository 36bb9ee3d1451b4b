import type { DurableEvent } from '@matrix/protocol'
import { findOrphanedToolCalls, findPendingMessages } from '@matrix/protocol/session'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  answered,
  called,
  compacted,
  consumed,
  marker,
  message,
  readAll,
  rewound,
  said,
  stamp,
} from './contract-case.ts'
import type { EventStore } from './event-store.ts'
import { findIdentity, rewindEvents } from './fork.ts'
import { openJsonlEventStore } from './jsonl-event-store.ts'
import { simulateDisk } from './simulated-file-system.ts'

test('a fork up to any event is the fork of a session that ended there', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.nat(), async (kinds, pick) => {
      const events = openStory()(kinds)
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

test('a conversation that is taken back to any event, any number of times, is what it was then, with what waits now', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(history, fc.nat()), { minLength: 1, maxLength: 3 }), async (rounds) => {
      const disk = simulateDisk(1)
      const tell = openStory()
      const all: DurableEvent[] = []
      for (const [kinds, pick] of rounds) {
        const events = tell(kinds)
        const store = await openJsonlEventStore('/data', { fileSystem: disk.boot() })
        const upTo = pick % (all.length + events.length + 1)
        await begin(store, 'a', [...events, rewound(upTo), said('on')])
        all.push(...events, rewound(upTo), said('on'))
        const then = rewindEvents(await store.readActive('a', { upTo }), [], rewound(upTo))
        const active = await store.readActive('a')

        // An identity or configuration from after that moment is kept too.
        const before = active.slice(0, -2).filter(({ type }) => type !== 'message' && type !== 'fork_marker')
        expect(before).toEqual(then.filter(({ type }) => type !== 'message' && type !== 'fork_marker'))
        expect(active.slice(-2)).toEqual([rewound(upTo), said('on')])
        expect(findPendingMessages(active)).toEqual(findPendingMessages(all))
        expect(findOrphanedToolCalls(active)).toEqual([])
        expect(findIdentity(active)).toEqual(findIdentity(all))
        await store.close()
      }
    }),
    { numRuns: 60 },
  )
})

const history = fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 25 })

/** Tells a story as it happens: what is consumed was sent, and what is answered was called. */
function openStory(): (kinds: number[]) => DurableEvent[] {
  const waiting: string[] = []
  let open: string[] = []
  let last = 0
  const next = (list: string[]) => {
    last += 1
    list.push(`${last}`)
    return `${last}`
  }
  const tell = [
    () => message(next(waiting)),
    () => consumed(...waiting.splice(0, 1)),
    () => called(next(open)),
    () => (open.length > 0 ? answered(open.splice(0, 1).join()) : said('nothing to answer')),
    () => compacted(`${last}`),
    // Long enough for the active part to lie in another piece of the file than its end.
    () => said('x'.repeat(60_000)),
    (): DurableEvent => ({ type: 'fork_marker', ...stamp, ...marker(`${last}`), sourceTaskId: 'o' }),
  ]
  return (kinds) => {
    open = []
    return kinds.map((kind) => tell[kind]?.() ?? said('words'))
  }
}

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
