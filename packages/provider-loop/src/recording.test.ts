import { openMockProvider, parsePlaybook, recordConversation, type Turn } from '@matrix/mock-provider'
import { type DurableEvent, queueMessage } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { dialects, done, echo, echoes, tell } from '../test/story.ts'
import { checkpointSections } from './compaction.ts'
import { createMessageQueue } from './message-queue.ts'

const story: Turn[] = [
  { thinking: 'Let me see.', text: 'Looking.', ...echoes('one', 'two'), faults: [{ kind: 'cut', afterEvents: 6 }] },
  { parts: [{ text: 'A' }, { thinking: 'B' }, { text: 'C' }, { toolCall: { name: echo.name, rawInput: '{"cut' } }] },
  { text: `<summary>${checkpointSections.join('\n')}</summary>` },
  { fresh: true, text: 'Ready.' },
  done,
]

test.each(dialects)('a session recorded through %s replays to the same requests, byte for byte', async (dialect) => {
  const live = await play(story)
  const playbook = { conversations: [recordConversation(live.durable)] }
  const replayed = await play(parsePlaybook(JSON.stringify(playbook)).conversations[0]?.turns ?? [])

  // The first of the live requests was cut off and made again.
  expect(replayed.mock.requests.map(({ body }) => body)).toEqual(live.mock.requests.slice(1).map(({ body }) => body))
  expect(replayed.durable.map(withoutTime)).toEqual(
    live.durable
      .filter((event) => !(event.type === 'turn_completed' && event.stopReason === 'failed'))
      .map(withoutTime),
  )

  async function play(turns: Turn[]) {
    const queue = createMessageQueue()
    return tell({
      dialect,
      queue,
      mock: await openMockProvider({ turns }),
      says: ['Go'],
      tools: [echo],
      onEvent: (event) => {
        if (event.type === 'tool_call' && event.invalidInput !== undefined)
          queue.enqueue(queueMessage.compact({ id: 'c1' }))
      },
      onIdle: () => queue.enqueue(queueMessage.user({ id: 'm2', text: 'Finish' })),
    })
  }
})

function withoutTime({ ts: _, ...event }: DurableEvent): object {
  return 'workMs' in event ? { ...event, workMs: undefined } : event
}

test("the recording of a fork's child holds what the child asked for, and nothing that it inherited", () => {
  const stamp = { taskId: 't1', ts: '2026-01-01T00:00:00.000Z' }
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 }
  const says = (text: string): DurableEvent[] => [
    { type: 'assistant_text', ...stamp, text },
    { type: 'turn_completed', ...stamp, model: 'm', stopReason: 'end_turn', usage, costUsd: 0 },
  ]
  const marker = { sourceTaskId: 't0', title: 'Child', description: '', worktreePath: null }
  const events = [...says('Parent.'), { type: 'fork_marker' as const, ...stamp, ...marker }, ...says('Child.')]

  expect(recordConversation(events).turns.map((turn) => turn.parts)).toEqual([[{ text: 'Child.' }]])
})
