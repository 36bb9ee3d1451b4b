import { type DurableEvent, queueMessage } from '@matrix/protocol'
import type { SessionEvent } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import type { PagesView } from '../live/event-pages.ts'
import { findCallState, findMessage, indexOfSeq, toItems } from './transcript-items.ts'

test('a message is shown where it was read, not where it arrived', () => {
  const view = session([arrived('m1', 'Stop that'), said('Working on it.'), consumed('m1'), said('Stopped.')])

  expect(types(view)).toEqual(['assistant_text', 'messages_consumed', 'assistant_text'])
  expect(findMessage(view, 'm1')?.message).toMatchObject({ text: 'Stop that' })
})

test('a result is part of the card of its call', () => {
  const view = session([called('c1'), answered('c1'), said('Done.')])

  expect(types(view)).toEqual(['tool_call', 'assistant_text'])
  expect(findCallState(view, 'c1', 1)).toMatchObject({ state: 'answered', result: { callId: 'c1' } })
})

test('a call without a result is open only if everything behind it was seen', () => {
  const events = [called('c1'), said('a'), said('b'), said('c')]

  expect(findCallState(session(events, { pageSize: 2 }), 'c1', 1)).toEqual({ state: 'open' })
  expect(findCallState(session(events, { pageSize: 2, missing: [1] }), 'c1', 1)).toEqual({ state: 'unknown' })
})

test('pages that are not in memory are gaps of the size of what they hold', () => {
  const view = session(
    Array.from({ length: 7 }, (_, index) => said(`${index}`)),
    { pageSize: 3, missing: [0, 2] },
  )

  expect(toItems(view).map((item) => (item.kind === 'gap' ? item.events : item.seq))).toEqual([3, 4, 5, 6, 1])
})

test('an answer that is only thinking is shown, an empty one is not', () => {
  const thinking = { ...said(''), provider: { blocks: [{ thinking: 'Hm.' }] } }

  expect(types(session([said(' '), thinking]))).toEqual(['assistant_text'])
})

test('an event of a kind that is not known here is shown', () => {
  expect(types(session([{ type: 'comet_seen' }]))).toEqual(['comet_seen'])
})

test('any event leads to a row: its own or the one it speaks through', () => {
  const view = session([called('c1'), answered('c1'), said('Done.'), said('x'), said('y')], {
    pageSize: 3,
    missing: [1],
  })
  const items = toItems(view)

  expect([1, 2, 3, 4, 5].map((seq) => indexOfSeq(items, seq, 3))).toEqual([0, 0, 1, 2, 2])
})

const stamp = { taskId: 't', ts: '2026-01-01T00:00:00.000Z' }
const said = (text: string) => ({ type: 'assistant_text', ...stamp, text }) satisfies DurableEvent
const called = (callId: string) =>
  ({ type: 'tool_call', ...stamp, callId, name: 'x', input: {} }) satisfies DurableEvent
const answered = (callId: string) =>
  ({ type: 'tool_result', ...stamp, callId, content: [], isError: false }) satisfies DurableEvent
const consumed = (...messageIds: string[]) =>
  ({ type: 'messages_consumed', ...stamp, messageIds }) satisfies DurableEvent
const arrived = (id: string, text: string) =>
  ({ type: 'message', ...stamp, message: queueMessage.user({ id, text }) }) satisfies DurableEvent

function types(view: PagesView): string[] {
  return toItems(view).map((item) => (item.kind === 'row' ? item.event.type : 'gap'))
}

function session(
  events: SessionEvent['event'][],
  { pageSize = 100, missing = [] }: { pageSize?: number; missing?: number[] } = {},
): PagesView {
  const entries = events.map((event, index) => ({ seq: index + 1, event }))
  const pages = new Map<number, SessionEvent[]>()
  for (let page = 0; page * pageSize < entries.length; page += 1)
    if (!missing.includes(page)) pages.set(page, entries.slice(page * pageSize, (page + 1) * pageSize))
  return { lastSeq: entries.length, pageSize, pages, failed: new Map() }
}
