import { expect, test } from 'vitest'
import { QueueMessage, queueMessage } from './queue-message.ts'

const one = { id: 'm1' }
const everySource: QueueMessage[] = [
  queueMessage.user({ ...one, text: 'Hello', images: [{ mediaType: 'image/png', data: 'iVBORw0KGgo=' }] }),
  queueMessage.treeChange({ ...one, changedTaskId: 't1', summary: 'The title changed.' }),
  queueMessage.taskComplete({ ...one, taskId: 't1', title: 'Parser', success: true, output: 'Done.', costUsd: 0.12 }),
  queueMessage.taskMessage({
    ...one,
    fromTaskId: 't1',
    fromTitle: 'Parser',
    content: 'Which branch?',
    requestReply: true,
  }),
  queueMessage.clarifyResponse({ ...one, clarificationId: 'c1', answer: 'main' }),
  queueMessage.userMessageForwarded({ ...one, toTaskId: 't1', toTitle: 'Parser', text: 'Use UTC.' }),
  queueMessage.crossProject({ ...one, fromProjectId: 'p1', fromProject: 'site', content: 'The API changed.' }),
  queueMessage.backgroundComplete({ ...one, processId: 'b1', command: 'npm test', exitCode: null, output: '' }),
  queueMessage.compact(one),
]

test('there are nine sources, each with a factory whose message survives JSON', () => {
  expect(new Set(everySource.map((message) => message.source)).size).toBe(9)
  expect(Object.keys(queueMessage)).toHaveLength(9)
  for (const message of everySource) expect(QueueMessage.parse(JSON.parse(JSON.stringify(message)))).toEqual(message)
})

test('a message without an id is refused, because it could be delivered twice', () => {
  for (const message of everySource) expect(QueueMessage.safeParse({ ...message, id: '' }).success).toBe(false)
})
