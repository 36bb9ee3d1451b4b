import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { type ContractCase, range, readAll, readStored, said, waitFor } from './contract-case.ts'
import { readPage, tailSession } from './event-store.ts'

/** Reading, page by page and as it grows. */
export const readContract: ContractCase[] = [
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
]
