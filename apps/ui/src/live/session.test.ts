import { type DurableEvent, queueMessage } from '@matrix/protocol'
import type { SessionEvent } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { openSession } from './session.ts'

test('a session opens at its end and takes in what happens', async () => {
  const { session, hear } = await open({ length: 450 })
  hear(said(451, 'new'))
  session.publish()

  expect(session.state).toBe('ready')
  expect([...session.view.pages.keys()]).toEqual([2])
  expect(session.view.lastSeq).toBe(451)
})

test('events that come while the end is still being read are kept', async () => {
  const { session, hear, ready } = begin({ length: 3 })
  session.catchUp()
  hear(said(4, 'early'))
  session.publish()
  await ready()

  expect(session.view.pages.get(0)?.map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
})

test('the finished text takes the place of its pieces', async () => {
  const { session, hear, stream } = await open({ length: 1 })
  stream('Hel')
  stream('lo')
  expect(session.streaming).toBe('Hello')

  hear(said(2, 'Hello'))
  session.publish()
  expect(session.streaming).toBe('')
})

test('the end of what a call prints is shown until it has answered', async () => {
  const { session, hear, print } = await open({ length: 1 })
  print('one\n')
  print(`${'x'.repeat(9000)}\n`)
  print('two\n')
  expect(session.outputs.get('c')).toMatch(/^x{7995}\ntwo\n$/)

  const content = [{ type: 'text' as const, text: 'two' }]
  hear({ seq: 2, event: { type: 'tool_result', ...stamp, callId: 'c', content, isError: false } })
  session.publish()
  expect(session.outputs.size).toBe(0)
})

test('a message that was sent waits until it is read', async () => {
  const { session, hear } = await open({ length: 1 })
  hear({ seq: 2, event: { type: 'message', ...stamp, message: queueMessage.user({ id: 'm', text: 'Hi' }) } })
  session.publish()
  expect(session.pending.map(({ id }) => id)).toEqual(['m'])

  hear({ seq: 3, event: { type: 'messages_consumed', ...stamp, messageIds: ['m'] } })
  session.publish()
  expect(session.pending).toEqual([])
})

test('a session that cannot be read says why, and can be tried again', async () => {
  const { session, ready, failWith } = begin({ length: 3 })
  failWith(new Error('no such task'))
  session.catchUp()
  await ready()
  expect(session.state).toBe('failed')

  failWith(undefined)
  session.retry()
  await ready()
  expect(session.state).toBe('ready')
})

const stamp = { taskId: 't', ts: '2026-01-01T00:00:00.000Z' }

function said(seq: number, text: string): SessionEvent {
  return { seq, event: { type: 'assistant_text', ...stamp, text } satisfies DurableEvent }
}

function begin({ length }: { length: number }) {
  let failure: Error | undefined
  const session = openSession(
    {
      listMessages: async () => [],
      readEvents: async ({ after = 0, limit = 200 }) => {
        if (failure) throw failure
        const from = Number(after)
        const size = Math.max(0, Math.min(Number(limit), length - from))
        const events = Array.from({ length: size }, (_, index) => said(from + index + 1, 'old'))
        return { events, more: from + size < length, lastSeq: length }
      },
    },
    'p',
    't',
    length,
  )
  const at = { projectId: 'p', taskId: 't' }
  return {
    session,
    ready: () => new Promise((done) => setTimeout(done, 5)),
    hear: (entry: SessionEvent) => session.takeEvent({ kind: 'event', ...at, ...entry }),
    stream: (text: string) =>
      session.takeSignal({ kind: 'live', ...at, event: { type: 'text_delta', ...stamp, text } }),
    print: (text: string) =>
      session.takeSignal({ kind: 'live', ...at, event: { type: 'tool_output', ...stamp, callId: 'c', text } }),
    failWith: (error: Error | undefined) => {
      failure = error
    },
  }
}

async function open(options: { length: number }) {
  const opened = begin(options)
  opened.session.catchUp()
  await opened.ready()
  return opened
}
