import { deepStrictEqual, rejects, strictEqual } from 'node:assert/strict'
import type { DurableEvent } from '@matrix/protocol'
import { type ContractCase, isError, readAll, readStored, said, stamp } from './contract-case.ts'

/** What is appended is there, whole and in order. */
export const appendContract: ContractCase[] = [
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
    name: 'what is not a durable event is refused, and nothing of its append is stored',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      const signal = { type: 'text_delta', ...stamp, text: 'a' }
      const unstamped = { type: 'assistant_text', text: 'a' }
      for (const bad of [signal, { type: 'made_up', ...stamp }, unstamped, { ...stamp }])
        await rejects(store.append('s', fence, [said('a'), bad as unknown as DurableEvent]), isError('EVENT_INVALID'))
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
