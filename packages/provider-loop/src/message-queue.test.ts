import { getEventListeners } from 'node:events'
import { queueMessage } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { createMessageQueue } from './message-queue.ts'
import { formatMessage } from './message-text.ts'

const one = queueMessage.user({ id: '1', text: 'one' })
const two = queueMessage.user({ id: '2', text: 'two' })

test('messages come out once, in the order they went in', () => {
  const queue = createMessageQueue([one])
  queue.enqueue(two)

  expect(queue.drain()).toEqual([one, two])
  expect(queue.drain()).toEqual([])
})

test('a message that is sent twice is delivered once, also after it was taken', () => {
  const queue = createMessageQueue([one])

  expect(queue.enqueue(one)).toBe(false)
  queue.drain()
  expect(queue.enqueue({ ...one, text: 'again' })).toBe(false)
  expect(queue.size).toBe(0)
})

test('whoever waits is woken by a message, at once if one is there, and takes nothing by it', async () => {
  const queue = createMessageQueue()
  const waiting = queue.wait()
  queue.enqueue(one)

  expect(await waiting).toBe(true)
  expect(await queue.wait()).toBe(true)
  expect(queue.size).toBe(1)
})

test('a message that nobody asked for does not wake', async () => {
  const queue = createMessageQueue()
  const waiting = queue.wait(undefined, (message) => message.id === '2')
  queue.enqueue(one)
  const early = await Promise.race([waiting, new Promise((resolve) => setImmediate(resolve, 'asleep'))])
  queue.enqueue(two)

  expect(early).toBe('asleep')
  expect(await waiting).toBe(true)
})

test('closing and stopping both end the wait, and leave no listener', async () => {
  const controller = new AbortController()
  const stopped = createMessageQueue().wait(controller.signal)
  controller.abort()
  const queue = createMessageQueue()
  const closed = queue.wait(new AbortController().signal)
  queue.close()

  expect(await Promise.all([stopped, closed])).toEqual([false, false])
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  expect(queue.enqueue(one)).toBe(false)
})

test('every source reads as what it is, and an empty text as nothing', () => {
  const text = (message: Parameters<typeof formatMessage>[0]) =>
    formatMessage(message).map((part) => (part.type === 'text' ? part.text : part.type))

  expect(text(one)).toEqual(['one'])
  expect(text(queueMessage.user({ id: '1', text: ' ', images: [{ mediaType: 'image/png', data: '' }] }))).toEqual([
    'image',
  ])
  expect(text(queueMessage.treeChange({ id: '1', changedTaskId: 't', summary: 'S' }))).toEqual([
    '[The task tree changed: t]\nS',
  ])
  expect(
    text(queueMessage.taskComplete({ id: '1', taskId: 't', title: 'T', success: false, output: 'O', costUsd: 0.5 })),
  ).toEqual(['[Task t "T" failed, cost $0.5000]\nO'])
  expect(
    text(queueMessage.taskMessage({ id: '1', fromTaskId: 't', fromTitle: 'T', content: 'C', requestReply: true })),
  ).toEqual(['[Message from task t "T", a reply is expected]\nC'])
  expect(text(queueMessage.clarifyResponse({ id: '1', clarificationId: 'q', answer: 'A' }))).toEqual([
    '[Answer to your question q]\nA',
  ])
  expect(text(queueMessage.userMessageForwarded({ id: '1', toTaskId: 't', toTitle: 'T', text: 'X' }))).toEqual([
    '[The user wrote to task t "T"]\nX',
  ])
  expect(text(queueMessage.crossProject({ id: '1', fromProjectId: 'p', fromProject: 'P', content: 'C' }))).toEqual([
    '[Message from project p "P"]\nC',
  ])
  expect(
    text(queueMessage.backgroundComplete({ id: '1', processId: 'b', command: 'make', exitCode: null, output: 'O' })),
  ).toEqual(['[Background process b ended with a signal: make]\nO'])
  expect(text(queueMessage.compact({ id: '1' }))).toEqual([])
})
