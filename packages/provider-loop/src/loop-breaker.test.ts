import { openMockProvider } from '@matrix/mock-provider'
import { queueMessage } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { done, echo, echoes, tell } from '../test/story.ts'
import { createLoopBreaker } from './loop-breaker.ts'
import { textResult } from './tools.ts'

test('the same call with the same result: the model is told at the third, and parked at the fifth', async () => {
  const { durable, types } = await tell({
    says: ['Go'],
    tools: [echo],
    turns: [
      echoes('a'),
      echoes('a'),
      echoes('a'),
      { assert: { userText: 'You are going in circles: the same call with the same result 3 times' }, ...echoes('a') },
      echoes('a'),
    ],
  })

  expect(durable.at(-1)).toMatchObject({
    type: 'error',
    code: 'LOOP_DETECTED',
    message: expect.stringContaining('5 times'),
  })
  expect(types.at(-1)).toBe('agent_idle')
})

test('two calls in turns are noticed like one', async () => {
  const { durable } = await tell({
    says: ['Go'],
    tools: [echo],
    turns: [
      echoes('a'),
      echoes('b'),
      echoes('a'),
      echoes('b'),
      echoes('a'),
      echoes('b'),
      { assert: { userText: 'the same two calls in turns 3 times' }, ...done },
    ],
  })

  expect(durable.filter((event) => event.type === 'notice')).toHaveLength(1)
})

test('the same call with another result each time is work, not a circle', async () => {
  let count = 0
  const counter = { ...echo, handler: () => textResult(`${++count} % done`) }
  const { durable } = await tell({ says: ['Go'], tools: [counter], turns: [...Array(8).fill(echoes('status?')), done] })

  expect(durable.filter((event) => event.type === 'notice')).toEqual([])
})

test('a person who speaks to a parked agent lets it go on, and it starts from zero', async () => {
  const { result } = await tell({
    says: ['Go'],
    tools: [echo],
    turns: [...Array(5).fill(echoes('a')), { assert: { userText: 'Try b' }, ...echoes('a') }, echoes('a'), done],
    onIdle: (queue) => queue.enqueue(queueMessage.user({ id: 'm2', text: 'Try b' })),
  })

  expect(result.exitReason).toBe('done_passed')
})

test('an agent that only wakes itself is parked until somebody else speaks', async () => {
  const mock = await openMockProvider()
  mock.play([...Array(5).fill({ text: 'Thinking about it.' }), { assert: { userText: 'Enough' }, ...done }])
  let own = 0
  const { durable, result } = await tell({
    mock,
    says: ['Go'],
    onIdle: (queue, times) => {
      queue.enqueue(
        queueMessage.taskMessage({ id: `own${++own}`, fromTaskId: 't1', fromTitle: 'Me', content: `Go on ${own}` }),
      )
      if (times === 6) setTimeout(() => queue.enqueue(queueMessage.user({ id: 'm9', text: 'Enough' })), 20)
    },
  })

  expect(durable.filter((event) => event.type === 'notice')).toHaveLength(2)
  expect(durable.find((event) => event.type === 'error')).toMatchObject({
    code: 'LOOP_DETECTED',
    message: expect.stringContaining('woke yourself'),
  })
  expect(result.exitReason).toBe('done_passed')
})

test('three answers in a row that were cut are told, five park the agent', async () => {
  const cut = { text: 'And then', stopReason: 'max_tokens' }
  const { durable } = await tell({ says: ['Go'], turns: Array(5).fill(cut), repeats: true })

  expect(durable.at(-1)).toMatchObject({
    code: 'LOOP_DETECTED',
    message: expect.stringContaining('cut at the output limit'),
  })
})

test('results are compared, not only the calls', () => {
  const breaker = createLoopBreaker()
  const observe = (text: string) =>
    breaker.observeCalls([{ call: { callId: 'x', name: 'a', input: {} }, content: [{ type: 'text', text }] }]).kind

  expect(['1', '1', '2', '2', '2', '2', '2'].map(observe)).toEqual([
    'fine',
    'fine',
    'fine',
    'fine',
    'warn',
    'warn',
    'stop',
  ])
})
