import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict'
import { type DurableEvent, MatrixError } from '@matrix/protocol'
import { type EventStore, readPage, tailSession } from './event-store.ts'
import { FORKED_CALL_TEXT, findIdentity } from './fork.ts'
import { findPendingMessages } from './pending-message.ts'
import type { StoredEvent } from './stored-event.ts'

/** Opens the store of one case. A second call, after the first store was closed, opens the same data again. */
export type OpenStore = () => Promise<EventStore>

export type ContractCase = { name: string; run(open: OpenStore): Promise<void> }

/** What every store promises, for any test runner: give each case an `open` on data of its own. */
export const eventStoreContract: ContractCase[] = [
  {
    name: 'events come back in the order they were appended, numbered from 1',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      strictEqual(await store.append('s', fence, [said('a'), said('b')]), 2)
      strictEqual(await store.append('s', fence, [said('c')]), 3)
      strictEqual(await store.append('s', fence, []), 3)

      deepStrictEqual(await readAll(store, 's'), [said('a'), said('b'), said('c')])
      deepStrictEqual(
        (await readStored(store, 's')).map(({ seq }) => seq),
        [1, 2, 3],
      )
      await store.close()
    },
  },
  {
    name: 'what was acknowledged is there when the store is opened again',
    async run(open) {
      const first = await open()
      await first.append('s', await first.claim('s', 'me'), [said('kept')])
      await first.close()

      const second = await open()
      const seq = await second.append('s', await second.claim('s', 'me'), [said('and on')])
      strictEqual(seq, 2)
      deepStrictEqual(await readAll(second, 's'), [said('kept'), said('and on')])
      deepStrictEqual(await second.listSessions(), ['s'])
      await second.close()
    },
  },
  {
    name: 'an event comes back exactly as it was appended',
    async run(open) {
      const store = await open()
      const input = {
        text: 'line\nbreak \u2028 "quoted" \\ \u0000 é 漢字 👩‍💻 \ud800',
        list: [1, 1.5, -0, null, true],
        deep: { a: {} },
      }
      const event: DurableEvent = { type: 'tool_call', ...stamp, callId: 'c', name: 'n', input }
      await store.append('s', await store.claim('s', 'me'), [event])

      deepStrictEqual(await readAll(store, 's'), [JSON.parse(JSON.stringify(event))])
      await store.close()
    },
  },
  {
    name: 'appends made at once are stored in the order they were made',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      const texts = Array.from({ length: 50 }, (_, index) => String(index))
      const seqs = await Promise.all(texts.map((text) => store.append('s', fence, [said(text)])))

      deepStrictEqual(
        seqs,
        texts.map((_, index) => index + 1),
      )
      deepStrictEqual(await readAll(store, 's'), texts.map(said))
      await store.close()
    },
  },
  {
    name: 'sessions that are written at once do not mix',
    async run(open) {
      const store = await open()
      const ids = Array.from({ length: 12 }, (_, index) => `s${index}`)
      await Promise.all(
        ids.map(async (id) => {
          const fence = await store.claim(id, 'me')
          for (let n = 0; n < 5; n += 1) await store.append(id, fence, [said(`${id} ${n}`)])
        }),
      )

      for (const id of ids)
        deepStrictEqual(
          await readAll(store, id),
          [0, 1, 2, 3, 4].map((n) => said(`${id} ${n}`)),
        )
      await store.close()
    },
  },
  {
    name: 'only the owner appends: a new claim makes the old fence worthless',
    async run(open) {
      const store = await open()
      const old = await store.claim('s', 'first')
      await store.append('s', old, [said('mine')])
      const current = await store.claim('s', 'second')

      await rejects(store.append('s', old, [said('late')]), isError('SESSION_FENCED'))
      await rejects(store.append('s', { ...current, owner: 'other' }, [said('forged')]), isError('SESSION_FENCED'))
      await store.append('s', current, [said('yours')])
      deepStrictEqual(await readAll(store, 's'), [said('mine'), said('yours')])
      ok(current.epoch > old.epoch)
      await store.close()
    },
  },
  {
    name: 'a released session takes appends only after it is claimed again',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      await store.append('s', fence, [said('a')])
      await store.release('s', fence)

      await rejects(store.append('s', fence, [said('b')]), isError('SESSION_FENCED'))
      await rejects(store.release('s', fence), isError('SESSION_FENCED'))
      strictEqual(await store.append('s', await store.claim('s', 'me'), [said('c')]), 2)
      await store.close()
    },
  },
  {
    name: 'a claim waits for what the owner before it was promised',
    async run(open) {
      const store = await open()
      const old = await store.claim('s', 'first')
      const promised = Array.from({ length: 20 }, (_, index) => store.append('s', old, [said(String(index))]))
      await store.claim('s', 'second')

      strictEqual(await store.lastSeq('s'), 20)
      await Promise.all(promised)
      await store.close()
    },
  },
  {
    name: 'reading starts after any seq and stops at a limit',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      await store.append(
        's',
        fence,
        Array.from({ length: 300 }, (_, index) => said(`${index + 1} ${'x'.repeat(index * 7)}`)),
      )

      for (const [after, limit] of [
        [0, 1],
        [1, 2],
        [150, 10],
        [299, 5],
        [300, 5],
        [999, 5],
      ] as const) {
        const seqs = (await readStored(store, 's', { after, limit })).map(({ seq }) => seq)
        deepStrictEqual(seqs, range(after + 1, Math.min(300, after + limit)))
      }
      await store.close()
    },
  },
  {
    name: 'pages go backwards from the end to the beginning',
    async run(open) {
      const store = await open()
      await store.append(
        's',
        await store.claim('s', 'me'),
        range(1, 25).map((n) => said(String(n))),
      )

      const last = await readPage(store, 's', { limit: 10 })
      const middle = await readPage(store, 's', { before: 16, limit: 10 })
      const first = await readPage(store, 's', { before: 6, limit: 10 })
      deepStrictEqual(
        last.events.map(({ seq }) => seq),
        range(16, 25),
      )
      deepStrictEqual(
        middle.events.map(({ seq }) => seq),
        range(6, 15),
      )
      deepStrictEqual(
        first.events.map(({ seq }) => seq),
        range(1, 5),
      )
      deepStrictEqual([last.more, middle.more, first.more], [true, true, false])
      deepStrictEqual(await readPage(store, 'nobody', { limit: 10 }), { events: [], more: false })
      await store.close()
    },
  },
  {
    name: 'a session nobody has written is empty, not an error',
    async run(open) {
      const store = await open()

      deepStrictEqual(await readAll(store, 'nobody'), [])
      deepStrictEqual(await store.readActive('nobody'), [])
      strictEqual(await store.lastSeq('nobody'), 0)
      strictEqual(await store.hasMessage('nobody', 'm'), false)
      deepStrictEqual(await store.listSessions(), [])
      await store.close()
    },
  },
  {
    name: 'the active part starts at the last compact marker',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      await store.append('s', fence, [said('a'), compacted('one'), said('b')])
      await store.append('s', fence, [compacted('two'), said('c')])
      // The words of a marker inside something else are not a marker.
      const quoting: DurableEvent = { type: 'tool_call', ...stamp, callId: 'c', name: 'n', input: compacted('no') }
      await store.append('s', fence, [quoting])

      deepStrictEqual(await store.readActive('s'), [compacted('two'), said('c'), quoting])
      await store.close()
    },
  },
  {
    name: 'waiting messages, the configuration and the identity survive compactions',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      const config: DurableEvent = {
        type: 'session_config',
        ...stamp,
        provider: 'p',
        model: 'm',
        systemPrompt: '',
        tools: [],
      }
      const fork: DurableEvent = {
        type: 'fork_marker',
        ...stamp,
        sourceTaskId: 'o',
        title: '',
        description: '',
        worktreePath: null,
      }
      await store.append('s', fence, [config, fork, message('m1'), message('m2'), consumed('m1'), compacted('one')])
      await store.append('s', fence, [message('m3'), compacted('two'), said('after')])

      deepStrictEqual(await store.readActive('s'), [
        config,
        fork,
        message('m2'),
        message('m3'),
        compacted('two'),
        said('after'),
      ])
      await store.append('s', fence, [consumed('m2', 'm3'), compacted('three')])
      deepStrictEqual(await store.readActive('s'), [config, fork, compacted('three')])
      await store.close()
    },
  },
  {
    name: 'a message is known by its id for ever, so that sending it again changes nothing',
    async run(open) {
      const store = await open()
      await store.append('s', await store.claim('s', 'me'), [message('m1'), consumed('m1'), compacted('one')])

      strictEqual(await store.hasMessage('s', 'm1'), true)
      strictEqual(await store.hasMessage('s', 'm2'), false)
      await store.close()
    },
  },
  {
    name: 'an event of an unknown type is kept, shown, and no part of the conversation',
    async run(open) {
      const store = await open()
      const unknown = { type: 'from_the_future', ...stamp, more: 1 } as unknown as DurableEvent
      await store.append('s', await store.claim('s', 'me'), [said('a'), unknown, said('b')])

      deepStrictEqual(
        (await readStored(store, 's')).map(({ known }) => known),
        [true, false, true],
      )
      deepStrictEqual(await readAll(store, 's'), [said('a'), unknown, said('b')])
      deepStrictEqual(await store.readActive('s'), [said('a'), said('b')])
      await store.close()
    },
  },
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
        { type: 'fork_marker', sourceTaskId: 'a', ...marker('b') },
      ])
      deepStrictEqual(
        findPendingMessages(await store.readActive('a')).map(({ id }) => id),
        ['m2'],
      )
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
  {
    name: 'subscribers hear of an append after it can be read, until they stop',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      const heard: number[] = []
      const stop = store.subscribe(({ sessionId, seq }) => sessionId === 's' && heard.push(seq))
      await store.append('s', fence, [said('a'), said('b')])
      await waitFor(() => heard.includes(2))
      stop()
      await store.append('s', fence, [said('c')])

      ok(!heard.includes(3))
      await store.close()
    },
  },
  {
    name: 'a live tail gives what is there and then what comes, without a gap or a repeat',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      await store.append(
        's',
        fence,
        range(1, 5).map((n) => said(String(n))),
      )
      const stop = new AbortController()
      const seqs: number[] = []
      const following = (async () => {
        for await (const batch of tailSession(store, 's', { after: 2, signal: stop.signal, pollMs: 50 })) {
          seqs.push(...batch.map(({ seq }) => seq))
          if (seqs.at(-1) === 20) stop.abort()
        }
      })()
      for (const n of range(6, 20)) await store.append('s', fence, [said(String(n))])
      await following

      deepStrictEqual(seqs, range(3, 20))
      await store.close()
    },
  },
  {
    name: 'what cannot be written as JSON is refused, and the session goes on',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      const bad = { type: 'tool_call', ...stamp, callId: 'c', name: 'n', input: 1n } as unknown as DurableEvent
      await rejects(store.append('s', fence, [said('a'), bad]), isError('EVENT_INVALID'))
      await rejects(store.append('s', fence, [{} as unknown as DurableEvent]), isError('EVENT_INVALID'))
      await store.append('s', fence, [said('b')])

      deepStrictEqual(await readAll(store, 's'), [said('b')])
      await store.close()
    },
  },
  {
    name: 'a session id cannot be a path',
    async run(open) {
      const store = await open()
      for (const id of ['', '..', 'a/b', 'a\\b', '.hidden', 'a b', 'a\n', '-a', 'x'.repeat(129)])
        await rejects(store.claim(id, 'me'), isError('SESSION_ID_INVALID'))
      await store.close()
    },
  },
  {
    name: 'a closed store says so',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      await store.close()

      await rejects(store.append('s', fence, [said('late')]), isError('STORE_CLOSED'))
      await rejects(readAll(store, 's'), isError('STORE_CLOSED'))
    },
  },
]

const stamp = { taskId: 't', ts: '2026-01-01T00:00:00.000Z' }

const said = (text: string): DurableEvent => ({ type: 'assistant_text', ...stamp, text })
const compacted = (checkpoint: string): DurableEvent => ({ type: 'compact_marker', ...stamp, checkpoint })
const consumed = (...messageIds: string[]): DurableEvent => ({ type: 'messages_consumed', ...stamp, messageIds })
const called = (callId: string): DurableEvent => ({ type: 'tool_call', ...stamp, callId, name: 'n', input: {} })
const message = (id: string): DurableEvent => ({ type: 'message', ...stamp, message: { source: 'user', id, text: id } })
const marker = (taskId: string) => ({ taskId, ts: stamp.ts, title: taskId, description: '', worktreePath: null })

function answered(callId: string, text = 'ok', taskId = 't'): DurableEvent {
  return { type: 'tool_result', ...stamp, taskId, callId, content: [{ type: 'text', text }], isError: false }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
}

async function readStored(
  store: EventStore,
  sessionId: string,
  options?: { after?: number; limit?: number },
): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const batch of store.read(sessionId, options)) events.push(...batch)
  return events
}

async function readAll(store: EventStore, sessionId: string): Promise<unknown[]> {
  return (await readStored(store, sessionId)).map(({ event }) => event)
}

function isError(code: string): (error: unknown) => boolean {
  return (error) => error instanceof MatrixError && error.code === code
}

async function waitFor(condition: () => boolean): Promise<void> {
  for (let waits = 0; !condition() && waits < 200; waits += 1) await new Promise((resolve) => setTimeout(resolve, 10))
  ok(condition(), 'nothing was heard for two seconds')
}
