import { openMockProvider } from '@matrix/mock-provider'
import { loopTools, queueMessage } from '@matrix/protocol'
import { describe, expect, test } from 'vitest'
import { dialects, done, echo, echoes, session, tell, yields } from '../test/story.ts'
import { createMessageQueue } from './message-queue.ts'
import { type ToolDefinition, textResult } from './tools.ts'

describe.each(dialects)('through %s', (dialect) => {
  test('an agent hears its message, calls tools, sees their results and is done', async () => {
    const { types, result } = await tell({
      dialect,
      says: ['Say hello twice'],
      tools: [echo],
      turns: [
        {
          assert: { userText: 'Say hello twice', system: 'You are an agent.', tools: [echo.name] },
          text: 'Gladly.',
          ...echoes('hello', 'again'),
        },
        { assert: { toolResults: ['hello', 'again'] }, ...done },
      ],
    })

    expect(types).toEqual([
      'session_config',
      'message',
      'messages_consumed',
      'text_delta',
      'assistant_text',
      'tool_call',
      'tool_call',
      'turn_completed',
      'usage',
      'tool_result',
      'tool_result',
      'tool_call',
      'turn_completed',
      'usage',
      'tool_result',
    ])
    expect(result).toEqual({ exitReason: 'done_passed', output: 'All done.', costUsd: expect.any(Number), turns: 2 })
    expect(result.costUsd).toBeGreaterThan(0)
  })

  test('an agent that falls silent waits for a message instead of exiting', async () => {
    const { types, result } = await tell({
      dialect,
      says: ['Hello'],
      turns: [{ text: 'Which branch?' }, { assert: { userText: 'main' }, ...done }],
      onIdle: (queue) => queue.enqueue(queueMessage.user({ id: 'later', text: 'main' })),
    })

    expect(types.slice(types.indexOf('agent_idle'))).toEqual([
      'agent_idle',
      'agent_active',
      'messages_consumed',
      'tool_call',
      'turn_completed',
      'usage',
      'tool_result',
    ])
    expect(result).toMatchObject({ exitReason: 'done_passed', turns: 2 })
  })

  test('without a queue an agent works on what its events hold, and ends when it would wait', async () => {
    const stamp = { taskId: 't1', ts: '2026-01-01T00:00:00.000Z' }
    const task = { type: 'notice' as const, ...stamp, text: 'Say hello' }
    const finished = await tell({ dialect, withoutQueue: true, events: [task], turns: [done] })
    const silent = await tell({ dialect, withoutQueue: true, events: [task], turns: [{ text: 'To whom?' }] })

    expect(finished.result).toMatchObject({ exitReason: 'done_passed', turns: 1 })
    expect(silent.result).toMatchObject({
      exitReason: 'interrupted',
      output: 'The message queue was closed.',
      turns: 1,
    })
    expect(silent.types.slice(-1)).toEqual(['agent_idle'])
  })

  test('an agent that was killed after its last word ends without a model call, unless somebody spoke since', async () => {
    const first = await tell({ dialect, says: ['Go'], turns: [done] })
    const events = session(['Go'], first.durable)
    const resumed = await tell({ dialect, events })
    const stamp = { taskId: 't1', ts: '2026-01-01T00:00:00.000Z' }
    const noted = {
      type: 'orchestration_completed' as const,
      exitReason: 'done_passed' as const,
      output: '',
      costUsd: 0,
      turns: 1,
    }
    const begunAgain = await tell({ dialect, events: [...events, { ...noted, ...stamp }], turns: [{ text: 'Yes?' }] })
    const spokenTo = await tell({
      dialect,
      events,
      queue: createMessageQueue([queueMessage.user({ id: 'more', text: 'One more thing' })]),
      turns: [{ assert: { userText: 'One more thing' }, text: 'Gladly.' }],
    })

    expect(resumed.result).toEqual({ exitReason: 'done_passed', output: 'All done.', costUsd: 0, turns: 0 })
    expect(begunAgain.result).toMatchObject({ exitReason: 'interrupted', turns: 1 })
    expect(spokenTo.result).toMatchObject({ exitReason: 'interrupted', turns: 1 })
  })

  test('a call says which tool it is of, where tools have an address', async () => {
    const uri = 'matrix://tool/mcp/notes/echo@1.0.0'
    const { durable } = await tell({ dialect, says: ['Go'], tools: [{ ...echo, uri }], turns: [echoes('one'), done] })
    const calls = durable.flatMap((event) => (event.type === 'tool_call' ? [[event.name, event.uri]] : []))

    expect(calls).toEqual([
      [echo.name, uri],
      [loopTools.done, undefined],
    ])
  })

  test('a message that arrives while tools run is heard before the next turn', async () => {
    const queue = createMessageQueue()
    const interrupting: ToolDefinition = {
      ...echo,
      handler: ({ text }) => {
        queue.enqueue(queueMessage.user({ id: 'late', text: 'And quickly!' }))
        return textResult(String(text))
      },
    }
    await tell({
      dialect,
      queue,
      says: ['Go'],
      tools: [interrupting],
      turns: [echoes('one'), { assert: { toolResults: ['one'], userText: 'And quickly!' }, ...done }],
    })
  })

  test('yield waits without a model call, and what woke the agent stands beside its result', async () => {
    const { types } = await tell({
      dialect,
      says: ['Wait for news'],
      turns: [yields, { assert: { toolResults: ['woken'], userText: 'News' }, ...done }],
      onIdle: (queue) => queue.enqueue(queueMessage.user({ id: 'news', text: 'News' })),
    })

    expect(types.slice(types.indexOf('tool_call'))).toEqual([
      'tool_call',
      'turn_completed',
      'usage',
      'agent_idle',
      'agent_active',
      'tool_result',
      'messages_consumed',
      'tool_call',
      'turn_completed',
      'usage',
      'tool_result',
    ])
  })

  test('a resumed agent goes on with the same bytes, so that the provider finds them in its cache', async () => {
    const mock = await openMockProvider({
      turns: [
        { text: 'One.', ...echoes('one') },
        { text: 'Wait.' },
        { assert: { userText: 'Go on', cachedShare: 0.5 }, ...done },
      ],
    })
    const says = ['Say one, then two']
    const first = await tell({ dialect, mock, keepMock: true, says, tools: [echo] })
    const second = await tell({
      dialect,
      mock,
      tools: [echo],
      events: session(says, first.durable),
      onIdle: (queue) => queue.enqueue(queueMessage.user({ id: 'more', text: 'Go on' })),
    })

    expect(second.types[0]).toBe('agent_idle')
    expect(second.result.exitReason).toBe('done_passed')
  })

  test('an agent that was killed while it yielded is resumed without a model call', async () => {
    const says = ['Wait']
    const first = await tell({ dialect, says, turns: [yields] })
    const second = await tell({ dialect, events: session(says, first.durable) })

    expect(second.types).toEqual(['agent_idle'])
    expect(second.mock.requests).toEqual([])
  })

  test('a call that a crash left without a result gets one that says so, and is not run again', async () => {
    const says = ['Go']
    const first = await tell({ dialect, says, tools: [echo], turns: [echoes('one', 'two'), done] })
    const crashed = first.durable.slice(0, first.durable.findIndex((event) => event.type === 'tool_result') + 1)
    let runs = 0
    const counting: ToolDefinition = {
      ...echo,
      handler: () => {
        runs += 1
        return textResult('')
      },
    }
    const second = await tell({
      dialect,
      events: session(says, crashed),
      tools: [counting],
      turns: [{ assert: { toolResults: ['one', 'was interrupted'] }, ...done }],
    })

    expect(second.types[0]).toBe('tool_result')
    expect(runs).toBe(0)
  })

  test('an answer of which only the beginning was stored is as if it had never been given', async () => {
    const says = ['Go']
    const first = await tell({
      dialect,
      says,
      tools: [echo],
      turns: [{ text: 'Half.', ...echoes('one', 'two') }, done],
    })
    for (const last of ['assistant_text', 'tool_call'] as const) {
      const torn = first.durable.slice(0, first.durable.findIndex((event) => event.type === last) + 1)
      const second = await tell({ dialect, tools: [echo], events: session(says, torn), turns: [echoes('three'), done] })

      expect(second.types[0]).toBe('turn_completed')
      expect(second.mock.requests.some(({ body }) => body.includes('Half.') || body.includes('"one"'))).toBe(false)
    }
  })

  test('a question parks the agent, over a restart too, until the answer arrives', async () => {
    const asks = {
      toolCalls: [{ name: loopTools.clarify, input: { question: 'Which?', options: ['a', 'b'] }, id: 'q1' }],
    }
    const mock = await openMockProvider({
      turns: [asks, { assert: { toolResults: ['woken'], userText: 'Answer to your question q1' }, ...done }],
    })
    const says = ['Go']
    const first = await tell({ dialect, mock, keepMock: true, says })
    const second = await tell({
      dialect,
      mock,
      events: session(says, first.durable),
      onIdle: (queue) => queue.enqueue(queueMessage.clarifyResponse({ id: 'a1', clarificationId: 'q1', answer: 'b' })),
    })

    expect(first.durable.at(-1)).toMatchObject({
      type: 'clarification_requested',
      clarificationId: 'q1',
      question: 'Which?',
      options: ['a', 'b'],
    })
    expect(second.result.exitReason).toBe('done_passed')
  })
})
