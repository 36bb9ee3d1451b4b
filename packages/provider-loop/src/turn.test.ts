import { type Fault, openMockProvider } from '@matrix/mock-provider'
import { queueMessage } from '@matrix/protocol'
import { describe, expect, test } from 'vitest'
import { createAdapter, dialects, done, echo, echoes, models, session, tell } from '../test/story.ts'
import { createBudget } from './budget.ts'

const faults: Fault[] = [
  { kind: 'status', status: 429, retryAfter: '7' },
  { kind: 'status', status: 500 },
  { kind: 'status', status: 529 },
  { kind: 'disconnect' },
  { kind: 'cut', afterEvents: 5 },
  { kind: 'truncate', afterEvents: 4 },
  { kind: 'error_event', afterEvents: 3 },
  { kind: 'garbage' },
]

describe.each(dialects)('through %s', (dialect) => {
  test.each(faults.map((fault) => [fault.kind === 'status' ? `status ${fault.status}` : fault.kind, fault] as const))(
    'a call that fails with %s is made again, and nothing of the failed one is recorded',
    async (_, fault) => {
      const { durable, types, ports } = await tell({
        dialect,
        says: ['Go'],
        tools: [echo],
        turns: [{ text: 'A longer text, in pieces.', faults: [fault, fault], ...echoes('one') }, done],
      })

      expect(durable.filter((event) => event.type === 'assistant_text')).toHaveLength(1)
      expect(durable.filter((event) => event.type === 'tool_call')).toHaveLength(2)
      expect(types.filter((type) => type === 'status')).toHaveLength(2)
      expect(ports.slept).toHaveLength(2)
    },
  )

  test('the provider is given the time it asks for', async () => {
    const { ports, events } = await tell({
      dialect,
      says: ['Go'],
      turns: [{ faults: [{ kind: 'status', status: 429, retryAfter: '7' }], ...done }],
    })

    expect(ports.slept[0]).toBeGreaterThanOrEqual(7000)
    expect(events.find((event) => event.type === 'status')).toMatchObject({
      text: expect.stringMatching(/429.*asking again in 7\.\d s, attempt 2 of 9/),
    })
  })

  test('a provider that never recovers parks the agent; a message lets it try again', async () => {
    const down = Array<Fault>(3).fill({ kind: 'status', status: 503 })
    const { durable, result } = await tell({
      dialect,
      says: ['Go'],
      retry: { attempts: 3 },
      turns: [{ faults: down, ...done }],
      onIdle: (queue) => queue.enqueue(queueMessage.user({ id: 'm2', text: 'Try again' })),
    })

    expect(durable.find((event) => event.type === 'error')).toMatchObject({
      code: 'PROVIDER_FAILED',
      message: expect.stringContaining('503'),
    })
    expect(result.exitReason).toBe('done_passed')
  })

  test('a parked agent stays parked over a restart', async () => {
    const says = ['Go']
    const first = await tell({
      dialect,
      says,
      retry: { attempts: 1 },
      turns: [{ faults: [{ kind: 'status', status: 503 }], text: 'never' }],
      keepMock: true,
    })
    const second = await tell({ dialect, events: session(says, first.durable) })
    await first.mock.close()

    expect(second.types).toEqual(['agent_idle'])
    expect(second.mock.requests).toEqual([])
  })

  test('a request that can never succeed is not repeated', async () => {
    const { mock, durable } = await tell({
      dialect,
      says: ['Go'],
      turns: [
        {
          faults: [{ kind: 'status', status: 400, message: 'prompt is too long: 300000 tokens > 200000 maximum' }],
          text: 'never',
        },
      ],
      keepMock: true,
    })
    await mock.close()

    expect(mock.requests).toHaveLength(1)
    expect(durable.find((event) => event.type === 'error')).toMatchObject({ code: 'CONTEXT_EXCEEDED' })
  })

  test.each(dialects)('a key that is no longer good moves the whole conversation to %s', async (other) => {
    const mock = await openMockProvider()
    mock.play({
      match: 'first-key',
      turns: [
        { thinking: 'Hm.', text: 'Looking.', ...echoes('one') },
        {
          faults: [
            { kind: 'status', status: 401 },
            { kind: 'status', status: 401 },
          ],
          text: 'never',
        },
      ],
    })
    mock.play({
      match: 'second-key',
      turns: [
        { assert: { toolResults: ['one'] }, text: 'Waiting.' },
        { assert: { userText: 'Go on' }, ...done },
      ],
    })
    const adapter = createAdapter(dialect, mock, { apiKey: 'first-key' })
    const fallback = { adapter: createAdapter(other, mock, { apiKey: 'second-key' }), model: models[other] }
    const says = ['Look']
    const first = await tell({
      mock,
      keepMock: true,
      adapter,
      model: models[dialect],
      fallbacks: [fallback],
      says,
      tools: [echo],
    })
    const second = await tell({
      mock,
      keepMock: true,
      adapter,
      model: models[dialect],
      fallbacks: [fallback],
      tools: [echo],
      events: session(says, first.durable),
      onIdle: (queue) => queue.enqueue(queueMessage.user({ id: 'm2', text: 'Go on' })),
    })
    adapter.close()
    fallback.adapter.close()
    await mock.close()

    expect(mock.problems).toEqual([])
    expect(first.events.find((event) => event.type === 'status')).toMatchObject({
      text: expect.stringContaining(`changing to ${fallback.adapter.name}`),
    })
    expect(second.result.exitReason).toBe('done_passed')
  })
})

describe.each(dialects)('through %s', (dialect) => {
  test.each([
    { kind: 'cut' as const, afterEvents: 6 },
    { kind: 'truncate' as const, afterEvents: 6 },
    { kind: 'error_event' as const, afterEvents: 6 },
  ])('a stream that broke off is paid for as far as it came: $kind', async (fault) => {
    const { durable, result } = await tell({
      dialect,
      says: ['Go'],
      turns: [{ text: 'Some text that goes on for a while. '.repeat(9), faults: [fault], ...done }],
    })
    const [lost, whole] = durable.filter((event) => event.type === 'turn_completed')

    expect(lost).toMatchObject({ stopReason: 'failed', usage: { inputTokens: expect.any(Number) } })
    expect(lost?.usage.outputTokens).toBeGreaterThan(5)
    expect(lost?.costUsd).toBeGreaterThan(0)
    expect(result.costUsd).toBeCloseTo((lost?.costUsd ?? 0) + (whole?.costUsd ?? 0), 10)
    expect(result.turns).toBe(1)
  })

  test('an answer that was stopped in the middle is paid for as far as it came', async () => {
    const controller = new AbortController()
    const { durable, result } = await tell({
      dialect,
      signal: controller.signal,
      says: ['Go'],
      turns: [{ text: 'Some text that goes on for a while. '.repeat(9), chunkDelayMs: 5 }],
      keepMock: true,
      onEvent: (event) => event.type === 'text_delta' && controller.abort(),
    })

    expect(durable.at(-1)).toMatchObject({ type: 'turn_completed', stopReason: 'failed' })
    expect(result).toMatchObject({ exitReason: 'interrupted', turns: 0, costUsd: expect.closeTo(0.001, 2) })
    expect(result.costUsd).toBeGreaterThan(0)
  })

  test('a request that was never answered costs nothing', async () => {
    const { durable } = await tell({
      dialect,
      says: ['Go'],
      turns: [{ faults: [{ kind: 'disconnect' }, { kind: 'status', status: 500 }], ...done }],
    })

    expect(durable.filter((event) => event.type === 'turn_completed')).toHaveLength(1)
  })
})

test('a turn costs what the provider counted: prompt, answer, and what was read from and written to the cache', async () => {
  const usage = { inputTokens: 1000, outputTokens: 100, cacheReadTokens: 500_000, cacheWriteTokens: 2000 }
  const { durable, result } = await tell({ says: ['Go'], turns: [{ usage, ...done }] })

  // Claude Sonnet 4.6: $3 in, $15 out, $0.30 cache read, $3.75 cache write per million.
  const cost = (1000 * 3 + 100 * 15 + 500_000 * 0.3 + 2000 * 3.75) / 1e6
  expect(result.costUsd).toBeCloseTo(cost, 10)
  expect(durable.find((event) => event.type === 'turn_completed')).toMatchObject({
    usage,
    costUsd: expect.closeTo(cost, 10),
  })
})

test('at 80 % of the budget there is a warning, at 100 % no further call is made', async () => {
  const dollar = { inputTokens: 0, outputTokens: 66_667, cacheReadTokens: 0, cacheWriteTokens: 0 }
  const { types, durable, result, mock } = await tell({
    says: ['Spend'],
    tools: [echo],
    budget: createBudget({ limits: { usd: 2.2 } }),
    turns: [
      { usage: dollar, ...echoes('1') },
      { usage: dollar, ...echoes('2') },
      { usage: dollar, ...echoes('3') },
    ],
  })

  expect(types.filter((type) => type.startsWith('budget'))).toEqual(['budget_warning', 'budget_exceeded'])
  expect(durable.find((event) => event.type === 'budget_warning')).toMatchObject({
    scope: 'task',
    kind: 'usd',
    limit: 2.2,
    spent: expect.closeTo(2, 3),
  })
  expect(result).toMatchObject({
    exitReason: 'interrupted',
    output: 'The budget of the task, $2.20, is used up.',
    turns: 3,
  })
  expect(mock.requests).toHaveLength(3)
})

test('the longest answer that is asked for is what the rest of the budget can pay', async () => {
  const asked = async (budgetUsd: number) => {
    const { mock } = await tell({
      says: ['Go'],
      budget: createBudget({ limits: { usd: budgetUsd } }),
      maxOutputTokens: 50_000,
      turns: [done],
    })
    return JSON.parse(mock.requests[0]?.body ?? '').max_tokens as number
  }

  expect(await asked(10)).toBe(50_000)
  const afforded = await asked(0.3)
  expect(afforded).toBeGreaterThan(19_000)
  expect(afforded).toBeLessThanOrEqual(20_000)
  expect(await asked(0.0001)).toBe(1024)
})

test('a model that no table knows costs nothing, and its price can be given', async () => {
  const mock = await openMockProvider({ turns: [done, done] })
  const free = await tell({ mock, keepMock: true, dialect: 'openai-chat', model: 'my-llama', says: ['Go'] })
  const price = { input: 1, output: 1, cacheRead: 1, cacheWrite: 1, contextWindow: 1000 }
  const adapter = createAdapter('openai-chat', mock, { pricing: { 'my-llama': price } })
  const paid = await tell({ mock, adapter, model: 'my-llama', says: ['Go'] })
  adapter.close()

  expect(free.result.costUsd).toBe(0)
  expect(paid.result.costUsd).toBeGreaterThan(0)
})

test.each([
  ['turns', { maxTurns: 2 }, '2 turns'],
  ['tokens', { maxTokens: 1 }, '1 tokens'],
] as const)('a run ends at its limit of %s', async (_, limits, words) => {
  const { durable, result, mock } = await tell({
    says: ['Go'],
    tools: [echo],
    limits,
    turns: [echoes('1'), echoes('2'), echoes('3')],
    keepMock: true,
  })
  await mock.close()

  expect(durable.at(-1)).toMatchObject({ type: 'error', code: 'LIMIT_REACHED' })
  expect(result).toMatchObject({ exitReason: 'interrupted', output: `The run reached its limit of ${words}.` })
})

test('a run ends at its limit of time', async () => {
  const { result } = await tell({
    says: ['Go'],
    limits: { maxDurationMs: 5000 },
    turns: [{ faults: [{ kind: 'status', status: 429, retryAfter: '6' }], text: 'Hello' }],
    onIdle: (queue, times) => times === 1 && queue.enqueue(queueMessage.user({ id: 'm2', text: 'More' })),
  })

  expect(result.output).toBe('The run reached its limit of 5000 ms.')
})
