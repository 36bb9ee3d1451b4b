import { openMockProvider } from '@matrix/mock-provider'
import { type Event, queueMessage } from '@matrix/protocol'
import { describe, expect, test } from 'vitest'
import { createAdapter, dialects, done, echo, echoes, session, tell } from '../test/story.ts'
import { checkpointSections } from './compaction.ts'
import { createMessageQueue } from './message-queue.ts'
import { type ToolDefinition, textResult } from './tools.ts'

const picture = { mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const

describe.each(dialects)('through %s', (dialect) => {
  test('thinking is sent back exactly as it came, also after a restart', async () => {
    const mock = await openMockProvider({
      turns: [
        { thinking: 'I should look.', text: 'Looking.', ...echoes('one') },
        { thinking: 'Good.', text: 'Here it is.' },
        { ...done },
      ],
    })
    const says = ['Look']
    const first = await tell({ dialect, mock, keepMock: true, says, tools: [echo] })
    await tell({
      dialect,
      mock,
      tools: [echo],
      events: session(says, first.durable),
      onIdle: (queue) => queue.enqueue(queueMessage.user({ id: 'm9', text: 'Thanks' })),
    })

    const kept = mock.requests.at(-1)?.body.includes('mock:')
    expect(kept).toBe(dialect !== 'openai-chat')
  })

  test('an answer whose pieces come in any order is sent back in that order', async () => {
    await tell({
      dialect,
      says: ['Go'],
      tools: [echo],
      turns: [
        {
          parts: [
            { thinking: 'First.' },
            { text: 'One ' },
            { thinking: 'Then.' },
            { text: 'two.' },
            { toolCall: { name: echo.name, input: { text: 'x' } } },
          ],
        },
        { assert: { toolResults: ['x'] }, ...done },
      ],
    })
  })

  test('pictures in messages and in results reach the model', async () => {
    const queue = createMessageQueue([queueMessage.user({ id: 'm1', text: 'What is this?', images: [picture] })])
    const camera: ToolDefinition = {
      ...echo,
      handler: () => ({ content: [{ type: 'image', ...picture }], isError: false }),
    }
    const { mock } = await tell({
      dialect,
      queue,
      tools: [camera],
      turns: [{ assert: { images: 1 }, ...echoes('look') }, done],
    })

    expect(mock.requests[1]?.body.split(picture.data)).toHaveLength(3)
  })

  test('half of a character in a message, a call or a result keeps no model from answering', async () => {
    await tell({
      dialect,
      says: ['Read \ud83d'],
      tools: [echo],
      turns: [{ ...echoes('\ude00 and more') }, { assert: { toolResults: ['and more'] }, ...done }],
    })
  })

  test('arguments in fragments of one character are put together', async () => {
    await tell({
      dialect,
      says: ['Go'],
      tools: [echo],
      turns: [
        { ...echoes('ünïcödé 👍'), chunkSize: 1 },
        { assert: { toolResults: ['ünïcödé 👍'] }, ...done },
      ],
    })
  })

  test.each([['{"text": "cut o'], ['[1, 2]'], ['"text"']])(
    'arguments that are no JSON object (%s) are shown to the model and not run',
    async (rawInput) => {
      let runs = 0
      const counting: ToolDefinition = {
        ...echo,
        handler: () => {
          runs += 1
          return textResult('')
        },
      }
      await tell({
        dialect,
        says: ['Go'],
        tools: [counting],
        turns: [{ toolCalls: [{ name: echo.name, rawInput }] }, { assert: { toolResults: [rawInput] }, ...done }],
      })

      expect(runs).toBe(0)
    },
  )

  test('a refusal parks the agent with an error, and a new message lets it go on', async () => {
    const { durable } = await tell({
      dialect,
      says: ['Do harm'],
      turns: [{ refusal: 'I cannot help with that.' }, { assert: { userText: 'Do good' }, ...done }],
      onIdle: (queue) => queue.enqueue(queueMessage.user({ id: 'm2', text: 'Do good' })),
    })

    expect(durable.find((event) => event.type === 'error')).toMatchObject({ code: 'PROVIDER_REFUSED' })
  })

  test('only the loop asks again: each attempt is one request, with the same bytes', async () => {
    const mock = await openMockProvider({
      turns: [{ faults: [500, 529].map((status) => ({ kind: 'status', status, retryAfterMs: 1 })), ...done }],
    })
    const adapter = createAdapter(dialect, mock)
    const { types } = await tell({ dialect, mock, adapter, says: ['Go'] })
    adapter.close()

    expect(types.filter((type) => type === 'status')).toHaveLength(2)
    expect(mock.requests).toHaveLength(3)
    expect(new Set(mock.requests.map(({ body }) => body)).size).toBe(1)
  })

  test('an answer that was cut at the output limit goes on, and a cut call is not run', async () => {
    await tell({
      dialect,
      says: ['Write a book'],
      tools: [echo],
      turns: [
        { text: 'It was a dark', stopReason: 'max_tokens' },
        {
          assert: { userText: 'cut at the output limit' },
          toolCalls: [{ name: echo.name, rawInput: '{"text": "and storm' }],
          stopReason: 'max_tokens',
        },
        { assert: { toolResults: ['not a JSON object'] }, ...done },
      ],
    })
  })

  test('an empty answer leaves nothing behind and parks the agent', async () => {
    await tell({
      dialect,
      says: ['Hello'],
      turns: [
        { text: '', stopReason: 'end_turn', parts: [] },
        { assert: { userText: ['Hello', 'Are you there?'] }, ...done },
      ],
      onIdle: (queue) => queue.enqueue(queueMessage.user({ id: 'm2', text: 'Are you there?' })),
    })
  })

  test('a tool that says nothing, fails or does not exist gives the model something to read', async () => {
    const failing: ToolDefinition = {
      ...echo,
      handler: ({ text }) => {
        if (text === 'fail') throw new Error('disk on fire')
        return textResult('')
      },
    }
    await tell({
      dialect,
      says: ['Go'],
      tools: [failing],
      turns: [
        {
          toolCalls: [
            { name: echo.name, input: { text: 'fail' } },
            { name: echo.name, input: {} },
            { name: 'unknown', input: {} },
          ],
        },
        {
          assert: {
            toolResults: ['disk on fire', '(no output)', /There is no tool unknown\. Available: mcp__mxd__yield/],
          },
          ...done,
        },
      ],
    })
  })

  test('a hundred calls in one turn are all answered, and what was sent before is still found in the cache', async () => {
    const texts = Array.from({ length: 100 }, (_, index) => `call ${index}`)
    await tell({
      dialect,
      says: [`Go. ${'Read this first. '.repeat(200)}`],
      tools: [echo],
      turns: [
        echoes('one'),
        { assert: { cachedShare: 0.7 }, ...echoes(...texts) },
        { assert: { cachedShare: 0.1, toolResults: texts }, ...echoes('last') },
        { assert: { cachedShare: 0.9 }, ...done },
      ],
    })
  })
})

test.each(['openai-chat', 'openai-responses'] as const)(
  'a content filter of %s parks the agent like a refusal',
  async (dialect) => {
    const { durable, result } = await tell({
      dialect,
      says: ['Go'],
      turns: [{ text: 'I was going to', stopReason: 'content_filter' }],
    })

    expect(durable).toContainEqual(expect.objectContaining({ type: 'error', code: 'PROVIDER_REFUSED' }))
    expect(result).toMatchObject({ exitReason: 'interrupted', turns: 1 })
  },
)

test('the same story comes to the same events through every API', async () => {
  const told = await Promise.all(
    dialects.map(async (dialect) => {
      const { events } = await tell({
        dialect,
        says: ['Go'],
        tools: [echo],
        turns: [
          { thinking: 'First.', text: 'Looking.', ...echoes('one', 'two'), faults: [{ kind: 'status', status: 500 }] },
          { toolCalls: [{ name: echo.name, rawInput: '{"cut' }] },
          { text: 'I wait.' },
          { text: `<summary>${checkpointSections.join()}</summary>` },
          { fresh: true, text: 'Cut', stopReason: 'max_tokens' },
          done,
        ],
        onIdle: (queue) => {
          queue.enqueue(queueMessage.compact({ id: 'c1' }))
          queue.enqueue(queueMessage.user({ id: 'm2', text: 'Finish' }))
        },
      })
      return events.map(withoutProvider)
    }),
  )

  expect(told[1]).toEqual(told[0])
  expect(told[2]).toEqual(told[0])
})

/** An event without what each provider names or counts in its own way. */
function withoutProvider(event: Event): object {
  const { provider, model, usage, costUsd, contextTokens, tokens, ...rest } = event as Event & Record<string, unknown>
  if (rest.type === 'session_config') return { type: rest.type }
  if (rest.type === 'status') return { ...rest, text: rest.text.replace(/^\S+/, '') }
  return 'callId' in rest ? { ...rest, callId: String(rest.callId).replace(/^[a-z]+_/, '') } : rest
}

test('a tool call without an id or an index, as some imitations send it, is still one call', async () => {
  const { createServer } = await import('node:http')
  const { createOpenaiChatAdapter } = await import('./openai-chat-adapter.ts')
  const delta = (tool_calls: object[]) =>
    `data: ${JSON.stringify({ id: 'x1', model: 'm', choices: [{ index: 0, delta: { tool_calls } }] })}\n\n`
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(delta([{ function: { name: 'a', arguments: '{"n":1}' } }]))
    response.write(delta([{ id: 'second', index: 0, function: { name: 'b', arguments: '{}' } }]))
    response.end(
      `data: ${JSON.stringify({ id: 'x1', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const adapter = createOpenaiChatAdapter({
    baseUrl: `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`,
  })
  const call = {
    model: 'm',
    prepared: adapter.prepareTools([], ''),
    messages: { closed: Buffer.alloc(0), userEnd: 0, open: '{"role":"user","content":"hi"}' },
    maxOutputTokens: 10,
    sessionId: 's',
    signal: new AbortController().signal,
  }
  const answer = await adapter.callAPI(call, () => {})
  adapter.close()
  server.close()

  expect(answer).toMatchObject({
    calls: [
      { callId: 'x1-0', name: 'a', input: { n: 1 } },
      { callId: 'second', name: 'b', input: {} },
    ],
    stopReason: 'tool_use',
    usage: { inputTokens: expect.any(Number) },
  })
})
