import { deepStrictEqual, rejects, strictEqual } from 'node:assert/strict'
import { findPendingMessages } from '@matrix/protocol/session'
import {
  answered,
  type ContractCase,
  called,
  compacted,
  consumed,
  isError,
  marker,
  message,
  readAll,
  said,
} from './contract-case.ts'
import { FORKED_CALL_TEXT, findIdentity } from './fork.ts'

/** What a fork takes with it. */
export const forkContract: ContractCase[] = [
  {
    name: 'a fork knows what its source knows, answers its open calls and ends with its own identity',
    async run(open) {
      const store = await open()
      const source = await store.claim('a', 'me')
      await store.append('a', source, [said('old'), compacted('so far'), message('m1'), consumed('m1'), message('m2')])
      await store.append('a', source, [called('c1'), answered('c1'), called('c2')])
      await store.copySessionFrom('a', 'b', await store.claim('b', 'me'), marker('b'))

      const events = await readAll(store, 'b')
      deepStrictEqual(events.slice(0, 6), [
        compacted('so far'),
        message('m1'),
        consumed('m1'),
        called('c1'),
        answered('c1'),
        called('c2'),
      ])
      deepStrictEqual(events.slice(6), [
        answered('c2', FORKED_CALL_TEXT, 'b'),
        { type: 'fork_marker', sourceTaskId: 'a', sourceSeq: 8, ...marker('b') },
      ])
      deepStrictEqual(
        findPendingMessages(await store.readActive('a')).map(({ id }) => id),
        ['m2'],
      )
      await store.close()
    },
  },
  {
    name: 'a fork up to an event knows what its source knew then, and answers the calls that were open then',
    async run(open) {
      const store = await open()
      const source = await store.claim('a', 'me')
      await store.append('a', source, [message('m1'), said('old'), compacted('one'), consumed('m1'), called('c1')])
      await store.append('a', source, [answered('c1'), message('m2'), compacted('two'), consumed('m2'), said('new')])
      await store.copySessionFrom('a', 'b', await store.claim('b', 'me'), marker('b'), { upTo: 5 })

      deepStrictEqual(await readAll(store, 'b'), [
        message('m1'),
        compacted('one'),
        consumed('m1'),
        called('c1'),
        answered('c1', FORKED_CALL_TEXT, 'b'),
        { type: 'fork_marker', sourceTaskId: 'a', sourceSeq: 5, ...marker('b') },
      ])
      const fence = await store.claim('c', 'me')
      for (const upTo of [0, -1, 1.5, 11])
        await rejects(store.copySessionFrom('a', 'c', fence, marker('c'), { upTo }), isError('EVENT_UNKNOWN'))
      strictEqual(await store.lastSeq('c'), 0)
      await store.close()
    },
  },
  {
    name: 'a fork of a fork belongs to the last marker',
    async run(open) {
      const store = await open()
      await store.append('a', await store.claim('a', 'me'), [said('from a')])
      await store.copySessionFrom('a', 'b', await store.claim('b', 'me'), marker('b'))
      await store.append('b', await store.claim('b', 'me'), [said('from b')])
      await store.copySessionFrom('b', 'c', await store.claim('c', 'me'), marker('c'))

      const events = await store.readActive('c')
      deepStrictEqual(
        events.map(({ type }) => type),
        ['assistant_text', 'fork_marker', 'assistant_text', 'fork_marker'],
      )
      strictEqual(findIdentity(events)?.taskId, 'c')
      await store.close()
    },
  },
  {
    name: 'of two forks into one session at once, one is made and the other is refused',
    async run(open) {
      const store = await open()
      await store.append('a', await store.claim('a', 'me'), [said('from a')])
      await store.append('b', await store.claim('b', 'me'), [said('from b')])
      const fence = await store.claim('c', 'me')
      const copies = ['a', 'b'].map((source) => store.copySessionFrom(source, 'c', fence, marker('c')))
      const outcomes = await Promise.allSettled(copies)

      strictEqual(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
      const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
      deepStrictEqual(refused.map(isError('SESSION_EXISTS')), [true])
      strictEqual((await readAll(store, 'c')).length, 2)
      await store.close()
    },
  },
  {
    name: 'only a session that has not begun becomes a fork; messages that wait in it keep waiting',
    async run(open) {
      const store = await open()
      await store.append('a', await store.claim('a', 'me'), [said('from a')])
      const fresh = await store.claim('fresh', 'me')
      await store.append('fresh', fresh, [message('m9')])
      await store.copySessionFrom('a', 'fresh', fresh, marker('fresh'))
      const begun = await store.claim('begun', 'me')
      await store.append('begun', begun, [said('already')])

      deepStrictEqual(
        findPendingMessages(await store.readActive('fresh')).map(({ id }) => id),
        ['m9'],
      )
      await rejects(store.copySessionFrom('a', 'begun', begun, marker('begun')), isError('SESSION_EXISTS'))
      deepStrictEqual(await readAll(store, 'begun'), [said('already')])
      await store.close()
    },
  },
]
