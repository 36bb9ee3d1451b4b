import { openMockProvider, type Turn } from '@matrix/mock-provider'
import { type DurableEvent, queueMessage } from '@matrix/protocol'
import { describe, expect, test } from 'vitest'
import { dialects, done, echo, echoes, session, tell, yields } from '../test/story.ts'
import { buildCompactedContext, checkpointSections, extractCheckpoint, missingSections } from './compaction.ts'
import { createMessageQueue } from './message-queue.ts'
import { textResult } from './tools.ts'

const checkpoint = checkpointSections.map((section) => `## ${section}\nThings.`).join('\n')
const summary: Turn = {
  assert: { userText: 'Write the summary inside <summary>' },
  text: `Here.\n<summary>\n${checkpoint}\n</summary>`,
}
const full = { inputTokens: 9000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

describe.each(dialects)('through %s', (dialect) => {
  test('a conversation near the end of the window is replaced by its summary, fresh memory and the words of the user', async () => {
    const { types, durable, result } = await tell({
      dialect,
      contextWindow: 10_000,
      says: ['Build a house.'],
      tools: [{ ...echo, handler: () => textResult('brick '.repeat(6000)) }],
      readMemory: () => 'Working directory: /w\n\n# .mxd/memory.md',
      turns: [
        { usage: full, ...echoes('bricks') },
        summary,
        {
          fresh: true,
          assert: { userText: [/^Working directory: \/w/, 'Pending Work', '1. Build a house.'] },
          ...done,
        },
      ],
    })

    expect(types.slice(types.indexOf('compact_started')).filter((type) => type !== 'usage')).toEqual([
      'compact_started',
      'summarization_request',
      'assistant_text',
      'turn_completed',
      'compact_marker',
      'session_config',
      'compacted_resume',
      'tool_call',
      'turn_completed',
      'tool_result',
    ])
    expect(durable.find((event) => event.type === 'compact_marker')).toMatchObject({ checkpoint })
    expect(result.turns).toBe(3)
  })

  test('a message that arrives while the summary is written is heard after it, also by a replay that starts at the marker', async () => {
    const mock = await openMockProvider({
      turns: [
        { ...echoes('one') },
        summary,
        { fresh: true, assert: { userText: ['Checkpoint', 'Stop the presses'] }, text: 'Stopped.' },
        { assert: { userText: 'And now?' }, ...done },
      ],
    })
    const queue = createMessageQueue()
    const first = await tell({
      dialect,
      mock,
      keepMock: true,
      queue,
      says: ['Print'],
      tools: [echo],
      onEvent: (event) => {
        if (event.type === 'tool_result') queue.enqueue(queueMessage.compact({ id: 'c1' }))
        if (event.type === 'summarization_request')
          queue.enqueue(queueMessage.user({ id: 'late', text: 'Stop the presses' }))
      },
    })
    await tell({
      dialect,
      mock,
      tools: [echo],
      events: active(session([], first.durable)),
      onIdle: (idle) => idle.enqueue(queueMessage.user({ id: 'm9', text: 'And now?' })),
    })
  })

  test.each([
    ['no tags', 'I would rather not.'],
    ['a missing section', '<summary>## Current Phase</summary>'],
    ['nothing in it', '<summary></summary>'],
  ])('a summary with %s is asked for once more', async (_, text) => {
    const { result } = await tell({
      dialect,
      queue: createMessageQueue([queueMessage.user({ id: 'm1', text: 'Go' }), queueMessage.compact({ id: 'c1' })]),
      turns: [
        { text },
        { ...summary, assert: { userText: ['Your summary cannot be used', 'all seven sections'] } },
        { fresh: true, ...done },
      ],
    })

    expect(result.exitReason).toBe('done_passed')
  })

  test('a model that writes no summary, or calls tools instead, twice, parks the agent and is not asked a third time', async () => {
    const { durable, result } = await tell({
      dialect,
      queue: createMessageQueue([queueMessage.user({ id: 'm1', text: 'Go' }), queueMessage.compact({ id: 'c1' })]),
      tools: [echo],
      turns: [{ text: 'No.' }, echoes('busy')],
    })

    expect(durable.at(-1)).toMatchObject({ type: 'error', code: 'COMPACTION_FAILED' })
    expect(durable.some((event) => event.type === 'compact_marker')).toBe(false)
    expect(result.exitReason).toBe('interrupted')
  })

  test('an idle agent that is told to compact is idle again afterwards, over a restart too', async () => {
    const first = await tell({
      dialect,
      says: ['Wait'],
      turns: [yields, summary],
      onIdle: (queue, times) => times === 1 && queue.enqueue(queueMessage.compact({ id: 'c1' })),
    })
    const second = await tell({ dialect, events: active(session(['Wait'], first.durable)) })

    expect(first.types.at(-1)).toBe('agent_idle')
    expect(second.types).toEqual(['agent_idle'])
  })

  test('a compaction that a crash interrupted is finished, and a summary that was written is not paid for twice', async () => {
    const first = await tell({
      dialect,
      queue: createMessageQueue([queueMessage.user({ id: 'm1', text: 'Go' }), queueMessage.compact({ id: 'c1' })]),
      turns: [summary, { fresh: true, ...done }],
    })
    for (const [last, asked] of [
      ['messages_consumed', true],
      ['compact_started', true],
      ['summarization_request', true],
      ['turn_completed', false],
    ] as const) {
      const crashed = first.durable.slice(0, first.durable.findIndex((event) => event.type === last) + 1)
      const second = await tell({
        dialect,
        events: session(['Go'], crashed),
        turns: [...(asked ? [{ ...summary }] : []), { fresh: true, ...done }],
      })

      expect(second.result.exitReason, last).toBe('done_passed')
    }
  })

  test('a message that was stored before a crash in a compaction is stored again with what is heard after it', async () => {
    const late = queueMessage.user({ id: 'late', text: 'And this?' })
    const first = await tell({ dialect, says: ['Wait'], turns: [yields] })
    const stamp = { taskId: 't1', ts: '2026-01-01T00:00:00.000Z' }
    const { durable } = await tell({
      dialect,
      events: [
        ...session(['Wait'], first.durable),
        { type: 'message', ...stamp, message: late },
        { type: 'compact_started', ...stamp, reason: 'manual', tokens: 1 },
      ],
      queue: createMessageQueue([late]),
      turns: [summary, { fresh: true, assert: { userText: 'And this?' }, ...done }],
    })

    expect(active(durable)).toContainEqual(expect.objectContaining({ type: 'message', message: late }))
  })

  test('an idle agent that crashed while it was compacted is idle again afterwards', async () => {
    const first = await tell({
      dialect,
      says: ['Wait'],
      turns: [{ text: 'I wait.' }, summary],
      onIdle: (queue, times) => times === 1 && queue.enqueue(queueMessage.compact({ id: 'c1' })),
    })
    const crashed = first.durable.slice(
      0,
      first.durable.findIndex((event) => event.type === 'compact_marker'),
    )
    const second = await tell({ dialect, events: session(['Wait'], crashed) })

    expect(second.types.at(-1)).toBe('agent_idle')
    expect(second.mock.requests).toHaveLength(0)
  })

  test('who spoke to an idle agent that crashed while it was compacted is heard after the summary', async () => {
    const first = await tell({
      dialect,
      says: ['Wait'],
      turns: [{ text: 'I wait.' }, summary],
      onIdle: (queue, times) => times === 1 && queue.enqueue(queueMessage.compact({ id: 'c1' })),
    })
    for (const [last, asked] of [
      ['compact_started', true],
      ['compact_marker', false],
    ] as const) {
      const until = first.durable.findIndex((event) => event.type === last)
      await tell({
        dialect,
        events: session(['Wait'], first.durable.slice(0, asked ? until + 1 : until)),
        queue: createMessageQueue([queueMessage.user({ id: 'late', text: 'And now?' })]),
        turns: [
          ...(asked ? [summary] : []),
          { fresh: true, assert: { userText: ['Checkpoint', 'And now?'] }, ...done },
        ],
      })
    }
  })
})

test('tokens are counted exactly only when the estimate is close to the threshold', async () => {
  const counted = async (usage: number) => {
    const { mock } = await tell({
      contextWindow: 100_000,
      says: ['Go'],
      tools: [echo],
      turns: [{ usage: { ...full, inputTokens: usage }, ...echoes('one') }, done],
    })
    return mock.requests.filter((request) => request.path.endsWith('/count_tokens')).length
  }

  expect(await counted(60_000)).toBe(0)
  expect(await counted(70_000)).toBe(1)
})

test('a compacted conversation that is still too long parks the agent instead of being compacted for ever', async () => {
  const { durable } = await tell({
    dialect: 'openai-chat',
    contextWindow: 10_000,
    queue: createMessageQueue([queueMessage.user({ id: 'm1', text: 'Go' }), queueMessage.compact({ id: 'c1' })]),
    readMemory: () => 'memory '.repeat(10_000),
    turns: [summary],
  })

  expect(durable.at(-1)).toMatchObject({
    code: 'COMPACTION_FAILED',
    message: expect.stringContaining('still too long'),
  })
})

test('the words of the user survive any number of compactions', async () => {
  const compactAfter = (queue: Parameters<NonNullable<Parameters<typeof tell>[0]['onIdle']>>[0], times: number) => {
    if (times > 3) return
    queue.enqueue(queueMessage.user({ id: `r${times}`, text: `Request ${times}` }))
    queue.enqueue(queueMessage.compact({ id: `c${times}` }))
  }
  const round: Turn[] = [summary, { fresh: true, text: 'Ready.' }]
  const { durable } = await tell({ turns: [...round, ...round, ...round], onIdle: compactAfter })

  expect(durable.findLast((event) => event.type === 'compacted_resume')).toMatchObject({
    requests: ['Request 1', 'Request 2', 'Request 3'],
  })
})

test('the checkpoint is what stands in the last pair of tags', () => {
  expect(extractCheckpoint('I will use <summary> tags.\n<summary>\n the text \n</summary> bye')).toBe('the text')
  expect(extractCheckpoint('<summary>one</summary> better: <summary>two</summary>')).toBe('two')
  expect(extractCheckpoint('</summary><summary>')).toBeUndefined()
  expect(extractCheckpoint('<summary>cut off')).toBeUndefined()
})

test('a checkpoint with other capitals is complete, one without a heading is not', () => {
  expect(missingSections(checkpoint.toUpperCase())).toEqual([])
  expect(missingSections(checkpoint.replace('Key Context', ''))).toEqual(['Key Context'])
})

test('requests that do not fit are left out from the oldest on, and it is said', () => {
  const text = buildCompactedContext({
    memory: '',
    checkpoint: 'C',
    requests: ['old '.repeat(50), 'newer', 'newest'],
    limit: 30,
  })

  expect(text).toContain('(1 earlier requests are only in the summary.)\n2. newer\n3. newest')
  expect(buildCompactedContext({ memory: '', checkpoint: 'C', requests: ['x'.repeat(100)], limit: 30 })).toContain(
    `1. ${'x'.repeat(30)}… (70 more characters)`,
  )
})

/** What `readActive` gives: from the last marker on. */
function active(events: DurableEvent[]): DurableEvent[] {
  return events.slice(events.findLastIndex((event) => event.type === 'compact_marker') + 1)
}
