import type { SessionEvent } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { openEventPages } from './event-pages.ts'

test('opening a long session reads its end only', async () => {
  const { pages, reads } = open({ length: 1000 })
  await pages.catchUp(1000)

  expect(reads).toEqual([{ after: 990, limit: 10 }])
  expect(seqs(pages.view().pages.get(99))).toEqual([991, 1000])
})

test('what is looked at is loaded together with its neighbours', async () => {
  const { pages } = open({ length: 1000 })
  await pages.catchUp(1000)
  await pages.show(50, 51)

  expect([...pages.view().pages.keys()].sort((a, b) => a - b)).toEqual([49, 50, 51, 52, 99])
})

test('far pages are dropped, the end of the session is kept', async () => {
  const { pages } = open({ length: 1000, maxPages: 6 })
  await pages.catchUp(1000)
  for (let page = 98; page >= 0; page -= 1) await pages.show(page, page)

  expect(pages.view().pages.size).toBeLessThanOrEqual(6)
  expect(pages.view().pages.has(99)).toBe(true)
  expect(pages.view().pages.has(0)).toBe(true)
})

test('events that happen are added to the end, each once', async () => {
  const { pages } = open({ length: 995 })
  await pages.catchUp(995)
  pages.append([entry(995), entry(996), entry(997)])
  pages.append([entry(997)])

  expect(seqs(pages.view().pages.get(99))).toEqual([991, 997])
  expect(pages.view().lastSeq).toBe(997)
})

test('a new page starts by itself when the last one is full', async () => {
  const { pages } = open({ length: 1000 })
  await pages.catchUp(1000)
  pages.append([entry(1001), entry(1002)])

  expect(seqs(pages.view().pages.get(100))).toEqual([1001, 1002])
})

test('an event that does not follow the last one makes the hole be read', async () => {
  const { pages, grow } = open({ length: 1000 })
  await pages.catchUp(1000)
  grow(1007)
  pages.append([entry(1007)])
  await pages.show(100, 100)

  expect(seqs(pages.view().pages.get(100))).toEqual([1001, 1007])
})

test('after silence, what was missed is found without knowing how much it is', async () => {
  const { pages, grow } = open({ length: 995 })
  await pages.catchUp()
  grow(1234)
  await pages.catchUp()

  expect(pages.view().lastSeq).toBe(1234)
  expect(seqs(pages.view().pages.get(99))).toEqual([991, 1000])
  expect(seqs(pages.view().pages.get(123))).toEqual([1231, 1234])
})

test('a page that cannot be read says why, and is read when asked again', async () => {
  const { pages, failWith } = open({ length: 1000 })
  await pages.catchUp(1000)
  failWith('offline')
  await pages.show(10, 10)

  expect(pages.view().failed.get(10)).toBe('offline')

  failWith(undefined)
  await pages.retry(10)
  expect(pages.view().failed.has(10)).toBe(false)
  expect(seqs(pages.view().pages.get(10))).toEqual([101, 110])
})

test('a session that was reset begins again', async () => {
  const { pages } = open({ length: 1000 })
  await pages.catchUp(1000)
  pages.append([entry(1), entry(2)])

  expect(pages.view().lastSeq).toBe(2)
  expect([...pages.view().pages.keys()]).toEqual([0])
})

test('the view stays the same object until something changes', async () => {
  const { pages } = open({ length: 20 })
  await pages.catchUp(20)
  const before = pages.view()

  expect(pages.view()).toBe(before)
  pages.append([entry(21)])
  expect(pages.view()).not.toBe(before)
})

test.each([3, 15, 200])(
  'a session of %d events that took the place of another meanwhile is shown, and nothing of the other',
  async (length) => {
    const { pages, replace } = open({ length: 15 })
    await pages.catchUp(15)
    await pages.show(0, 1)
    replace(length)
    await pages.catchUp()
    await pages.show(0, 1)

    const { lastSeq, pages: shown } = pages.view()
    expect(lastSeq).toBe(length)
    expect([...shown.values()].flat().map(({ event }) => event.ts)).not.toContain(entry(1).event.ts)
  },
)

function open({ length, maxPages = 12 }: { length: number; maxPages?: number }) {
  const reads: { after: number; limit: number }[] = []
  let last = length
  let day = 1
  let failure: string | undefined
  const pages = openEventPages({
    pageSize: 10,
    maxPages,
    read: async (query) => {
      reads.push(query)
      if (failure) throw new Error(failure)
      const count = Math.max(0, Math.min(query.limit, last - query.after))
      const events = Array.from({ length: count }, (_, index) => entry(query.after + index + 1, day))
      return { events, more: query.after + query.limit < last, lastSeq: last }
    },
  })
  return {
    pages,
    reads,
    replace: (by: number) => {
      last = by
      day += 1
    },
    grow: (to: number) => {
      last = to
    },
    failWith: (message: string | undefined) => {
      failure = message
    },
  }
}

function entry(seq: number, day = 1): SessionEvent {
  return { seq, event: { type: 'notice', taskId: 't', ts: `2026-01-0${day}T00:00:00.000Z`, text: `event ${seq}` } }
}

function seqs(events: readonly SessionEvent[] | undefined): [number | undefined, number | undefined] {
  return [events?.[0]?.seq, events?.at(-1)?.seq]
}
