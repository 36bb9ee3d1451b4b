import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict'
import { type ContractCase, isError, readAll, said } from './contract-case.ts'

/** One owner at a time. */
export const ownershipContract: ContractCase[] = [
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
]
