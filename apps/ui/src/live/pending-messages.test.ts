import { queueMessage } from '@matrix/protocol'
import type { SessionEvent } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { openPendingMessages } from './pending-messages.ts'

test('a message waits from its arrival until it is read', () => {
  const pending = openPendingMessages()
  pending.takeEvent(arrived('a'))
  pending.takeEvent(arrived('b'))
  pending.takeEvent(consumed('a'))

  expect(ids(pending)).toEqual(['b'])
})

test('what happens while the list is read is neither lost nor brought back', () => {
  const pending = openPendingMessages()
  pending.expectList()
  pending.takeEvent(arrived('new'))
  pending.takeEvent(consumed('old'))
  pending.takeList([message('old'), message('kept')])

  expect(ids(pending)).toEqual(['kept', 'new'])
})

test('a message heard of twice waits once', () => {
  const pending = openPendingMessages()
  pending.takeEvent(arrived('a'))
  pending.takeEvent(arrived('a'))
  pending.expectList()
  pending.takeList([message('a')])

  expect(ids(pending)).toEqual(['a'])
})

test('a message that was taken back does not wait, here or on another page', () => {
  const pending = openPendingMessages()
  pending.takeEvent(arrived('a'))
  pending.takeEvent(arrived('b'))
  pending.remove('a')
  pending.takeEvent({ seq: 3, event: { type: 'messages_withdrawn', ...stamp, messageIds: ['b'] } })

  expect(ids(pending)).toEqual([])
})

const stamp = { taskId: 't', ts: '2026-01-01T00:00:00.000Z' }
const message = (id: string) => queueMessage.user({ id, text: id })
const arrived = (id: string): SessionEvent => ({ seq: 1, event: { type: 'message', ...stamp, message: message(id) } })
const consumed = (id: string): SessionEvent => ({
  seq: 2,
  event: { type: 'messages_consumed', ...stamp, messageIds: [id] },
})

function ids(pending: ReturnType<typeof openPendingMessages>): string[] {
  return pending.list().map(({ id }) => id)
}
