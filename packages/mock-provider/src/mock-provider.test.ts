import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type MockProvider, openMockProvider } from './mock-provider.ts'
import type { Playbook } from './playbook.ts'

let mock: MockProvider
beforeEach(async () => {
  mock = await openMockProvider()
})
afterEach(() => mock.close())

test('the Anthropic SDK streams a scripted turn: thinking, text and a tool call', async () => {
  mock.play([
    { thinking: 'Look first.', text: 'Reading.', toolCalls: [{ name: 'read', input: { path: 'a' }, id: 'toolu_1' }] },
  ])
  const message = await anthropic()
    .messages.stream({ ...ask, messages: [user('Go')] })
    .finalMessage()

  expect(message.content).toEqual([
    { type: 'thinking', thinking: 'Look first.', signature: expect.stringMatching(/^mock:/) },
    { type: 'text', text: 'Reading.' },
    { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a' } },
  ])
  expect(message.stop_reason).toBe('tool_use')
  mock.verify()
})

test('the Anthropic SDK gets the same answer without streaming, and counts tokens', async () => {
  mock.play([{ text: 'Hello' }])
  const message = await anthropic().messages.create({ ...ask, messages: [user('Hi')] })
  const count = await anthropic().messages.countTokens({ model: ask.model, messages: [user('Hi')] })

  expect(message.content).toEqual([{ type: 'text', text: 'Hello' }])
  expect(count.input_tokens).toBeGreaterThan(0)
})

test.each(['\ud83d', '\\\\\ude00 x'])('half of a character is refused, as the APIs do', async (text) => {
  mock.play([{ text: 'Hello' }])

  await expect(anthropic().messages.create({ ...ask, messages: [user(text)] })).rejects.toThrow('no low surrogate')
})

test('what only looks like half of a character is taken, and so is a whole one', async () => {
  mock.play([{ text: 'Hello' }])
  const message = await anthropic().messages.create({ ...ask, messages: [user('\\ud83d and 😀')] })

  expect(message.content).toEqual([{ type: 'text', text: 'Hello' }])
})

test('the OpenAI SDK streams a scripted turn through Chat Completions', async () => {
  mock.play([
    {
      text: 'Reading.',
      toolCalls: [
        { name: 'read', input: { path: 'a' } },
        { name: 'read', input: { path: 'b' } },
      ],
    },
  ])
  const completion = await openai()
    .chat.completions.stream({
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'Go' }],
      stream_options: { include_usage: true },
    })
    .finalChatCompletion()

  const [choice] = completion.choices
  expect(choice?.message.content).toBe('Reading.')
  expect(choice?.message.tool_calls?.map((call) => 'function' in call && call.function.arguments)).toEqual([
    '{"path":"a"}',
    '{"path":"b"}',
  ])
  expect(choice?.finish_reason).toBe('tool_calls')
  expect(completion.usage?.total_tokens).toBeGreaterThan(0)
})

test('the OpenAI SDK streams a scripted turn through Responses, reasoning included', async () => {
  mock.play([{ thinking: 'Hm.', text: 'Reading.', toolCalls: [{ name: 'read', input: { path: 'a' } }] }])
  const response = await openai().responses.stream({ model: 'gpt-5', input: 'Go', store: false }).finalResponse()

  expect(response.output.map((item) => item.type)).toEqual(['reasoning', 'message', 'function_call'])
  expect(response.output_text).toBe('Reading.')
})

test('a turn too many is refused and a turn too few is reported', async () => {
  mock.play({ name: 'story', turns: [{ text: 'One' }] })
  await anthropic().messages.create({ ...ask, messages: [user('Hi')] })

  await expect(anthropic().messages.create({ ...ask, messages: [user('Hi')] })).rejects.toThrow('a request too many')
  expect(() => mock.verify()).toThrow('a request too many')

  const unheard = await openMockProvider({ turns: [{ text: 'Never' }] })
  expect(() => unheard.verify()).toThrow('1 scripted turns were never asked for')
  await unheard.close()
})

test('an assertion that does not hold fails the request with what was there instead', async () => {
  mock.play([{ assert: { userText: ['Hi', /^Hello/] }, text: 'One' }])

  await expect(anthropic().messages.create({ ...ask, messages: [user('Hi there')] })).rejects.toThrow('400')
  expect(mock.problems[0]).toContain('should match /^Hello/ but is "Hi there"')
})

test('a captured value fills later answers and assertions', async () => {
  mock.play([
    { capture: { id: { from: 'userText', pattern: 'task (\\w+)' } }, text: 'On {{id}}.' },
    { assert: { userText: 'still {{id}}' }, text: 'Done.' },
  ])
  const opening = [user('Take task K7 please')]
  const first = await anthropic().messages.create({ ...ask, messages: opening })
  await anthropic().messages.create({ ...ask, messages: [...opening, assistant('On K7.'), user('It is still K7')] })

  expect(first.content).toMatchObject([{ text: 'On K7.' }])
  mock.verify()
})

test('several agents at once each hear their own conversation', async () => {
  mock.play({ match: 'Parser', turns: [{ text: 'I parse.' }] })
  mock.play({ match: /Printer$/, turns: [{ text: 'I print.' }] })
  const [printer, parser] = await Promise.all(
    ['You are the Printer', 'You are the Parser'].map((text) =>
      anthropic().messages.create({ ...ask, messages: [user(text)] }),
    ),
  )

  expect([printer?.content, parser?.content]).toMatchObject([[{ text: 'I print.' }], [{ text: 'I parse.' }]])
  await expect(anthropic().messages.create({ ...ask, messages: [user('Who?')] })).rejects.toThrow(
    'no conversation fits',
  )
})

test('a history that changed is refused with the place where it parts from the one before', async () => {
  mock.play([{ text: 'One' }, { text: 'Two' }])
  await anthropic().messages.create({ ...ask, messages: [user('Count to two')] })

  await expect(
    anthropic().messages.create({ ...ask, messages: [user('Count to ten'), assistant('One'), user('Go on')] }),
  ).rejects.toThrow('400')
  expect(mock.problems[0]).toBe(`prefix consistency: messages.0.content.0 (user text) changed.
  at character 33
  before: {"type":"text","text":"Count to two"}
  now:    {"type":"text","text":"Count to ten"}`)
})

test('a changed system prompt or tool is a changed history, and a fresh turn allows it', async () => {
  mock.play([{ text: 'One' }, { fresh: true, text: 'Two' }, { text: 'Three' }])
  const say = (system: string) => anthropic().messages.create({ ...ask, system, messages: [user('Hi')] })
  await say('Be kind')
  await say('Be brief')

  await expect(say('Be quiet')).rejects.toThrow('The system prompt or the tools changed')
})

test('what was marked for the cache is read from it the next time, and only that', async () => {
  mock.play([
    { text: 'One' },
    { assert: { cachedShare: 0.8 }, text: 'Two' },
    { assert: { cachedShare: 0.8 }, text: 'Three' },
  ])
  const marked = { type: 'text' as const, text: 'word '.repeat(400), cache_control: { type: 'ephemeral' as const } }
  const first = await anthropic().messages.create({ ...ask, messages: [{ role: 'user', content: [marked] }] })
  const later = [{ role: 'user' as const, content: [{ type: 'text' as const, text: marked.text }] }, assistant('One')]
  const second = await anthropic().messages.create({
    ...ask,
    messages: [
      ...later,
      { role: 'user', content: [{ type: 'text', text: 'Go on', cache_control: { type: 'ephemeral' } }] },
    ],
  })

  expect(first.usage).toMatchObject({ cache_read_input_tokens: 0, input_tokens: expect.any(Number) })
  expect(first.usage.cache_creation_input_tokens).toBeGreaterThan(400)
  expect(second.usage.cache_read_input_tokens).toBe(first.usage.cache_creation_input_tokens)
  await expect(anthropic().messages.create({ ...ask, system: 'x', messages: [user('New')] })).rejects.toThrow()
})

test.each([
  [
    'a call without its result',
    [user('a'), calls('t1'), user('b')],
    'ids were found without `tool_result` blocks immediately after: t1',
  ],
  [
    'a result without its call',
    [user('a'), assistant('b'), results('t1')],
    'unexpected `tool_use_id` found in `tool_result` blocks: t1',
  ],
  ['a result twice', [user('a'), calls('t1'), results('t1', 't1')], 'Found multiple `tool_result` blocks with id: t1'],
  [
    'a call id twice',
    [user('a'), calls('t1', 't1'), results('t1')],
    'messages.1.content.1: `tool_use` ids must be unique',
  ],
  ['a trailing assistant turn', [user('a'), assistant('b')], 'The conversation must end with a user message'],
  ['an empty text', [user('')], 'text content blocks must be non-empty'],
  ['no message', [], 'at least one message is required'],
  ['the same message twice', [user('a'), user('a')], 'the same message twice in a row'],
  [
    'text before a result',
    [user('a'), calls('t1'), { role: 'user', content: [{ type: 'text', text: 'x' }, ...results('t1').content] }],
    'without `tool_result` blocks immediately after',
  ],
  [
    'thinking that was changed',
    [
      user('a'),
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'x', signature: 'mock:y' },
          { type: 'text', text: 'z' },
        ],
      },
      user('b'),
    ],
    'Invalid `signature` in `thinking` block',
  ],
] as [string, Anthropic.MessageParam[], string][])('the Messages API refuses %s', async (_, messages, words) => {
  mock.play([{ text: 'never' }])

  await expect(anthropic().messages.create({ ...ask, messages })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining(words),
  })
})

test('five cache breakpoints, a bad tool schema and two tools of one name are refused', async () => {
  mock.play([{ text: 'never' }])
  const marked = { type: 'text' as const, text: 'a', cache_control: { type: 'ephemeral' as const } }
  const tool = (name: string, type: 'object') => ({ name, input_schema: { type, properties: {} } })
  const create = (more: object) => anthropic().messages.create({ ...ask, messages: [user('a')], ...more })

  await expect(create({ messages: [{ role: 'user', content: Array(5).fill(marked) }] })).rejects.toThrow(
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  )
  await expect(create({ tools: [tool('a', 'string' as 'object')] })).rejects.toThrow('tools.0.custom.input_schema')
  await expect(create({ tools: [tool('a', 'object'), tool('a', 'object')] })).rejects.toThrow(
    'Tool names must be unique.',
  )
  await expect(create({ tools: [tool('a b', 'object')] })).rejects.toThrow('String should match pattern')
})

test.each([
  [
    'a call without its result',
    [{ role: 'user', content: 'a' }, chatCalls('c1'), { role: 'user', content: 'b' }],
    'did not have response messages: c1',
  ],
  [
    'a result without its call',
    [{ role: 'tool', tool_call_id: 'c1', content: 'x' }],
    "messages with role 'tool' must be a response",
  ],
  ['no message', [], "Invalid 'messages': empty array"],
] as [string, OpenAI.ChatCompletionMessageParam[], string][])(
  'Chat Completions refuses %s',
  async (_, messages, words) => {
    mock.play([{ text: 'never' }])

    await expect(openai().chat.completions.create({ model: 'gpt-5', messages })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(words),
    })
  },
)

test.each([
  [
    'a call without its output',
    [
      { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{}' },
      { role: 'user', content: 'b' },
    ],
    'No tool output found for function call c1.',
  ],
  [
    'an output without its call',
    [{ type: 'function_call_output', call_id: 'c1', output: 'x' }],
    'No tool call found for function call output with call_id c1.',
  ],
  [
    'a call twice',
    [
      { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{}' },
      { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
    ],
    'Duplicate function_call for call_id c1.',
  ],
  [
    'reasoning without what it led to',
    [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
      { role: 'user', content: 'b' },
    ],
    "'rs_1' of type 'reasoning' was provided without its required following item",
  ],
] as [string, OpenAI.Responses.ResponseInput, string][])('Responses refuses %s', async (_, input, words) => {
  mock.play([{ text: 'never' }])

  await expect(openai().responses.create({ model: 'gpt-5', input })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining(words),
  })
})

test.each(['turns', 'stateless'])(
  'a message that was said before is refused anywhere, unless repeats are allowed (%s)',
  async (kind) => {
    const turns = [{ text: 'One' }, { text: 'Two' }, { text: 'Three' }]
    const first = [user('Go on'), assistant('One')]
    const long = [...first, user('Where is it?'), assistant('Two'), user('Go on')]
    const ask3 = async (repeats: boolean) => {
      await using stage = await play({
        stateless: kind === 'stateless',
        conversations: [{ name: 'a', turns, repeats }],
      })
      const create = (messages: Anthropic.MessageParam[]) =>
        new Anthropic({ apiKey: 'x', baseURL: stage.url, maxRetries: 0 }).messages.create({ ...ask, messages })
      await create(long.slice(0, 1))
      await create(long.slice(0, 3))
      return await create(long)
    }

    await expect(ask3(false)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('the same message as messages.0.content.0'),
    })
    expect((await ask3(true)).content).toMatchObject([{ text: 'Three' }])
  },
)

test('faults hit one request each, and then the turn is answered', async () => {
  mock.play([
    {
      faults: [
        { kind: 'status', status: 429, retryAfter: '7' },
        { kind: 'status', status: 529 },
        { kind: 'disconnect' },
        { kind: 'cut', afterEvents: 4 },
        { kind: 'truncate', afterEvents: 4 },
        { kind: 'error_event', afterEvents: 2 },
        { kind: 'garbage' },
      ],
      text: 'At last',
    },
  ])
  const attempt = () =>
    anthropic()
      .messages.stream({ ...ask, messages: [user('Hi')] })
      .finalMessage()

  await expect(attempt()).rejects.toSatisfy(
    (error: InstanceType<typeof Anthropic.APIError>) =>
      error.status === 429 && error.headers?.get('retry-after') === '7',
  )
  await expect(attempt()).rejects.toMatchObject({ status: 529 })
  for (let fault = 0; fault < 5; fault += 1) await expect(attempt()).rejects.toThrow()
  expect((await attempt()).content).toMatchObject([{ text: 'At last' }])
  mock.verify()
})

test('a request that is never answered can still be given up, and the mock closes at once', async () => {
  mock.play([{ faults: [{ kind: 'silence' }], text: 'Later' }])
  const controller = new AbortController()
  const pending = anthropic().messages.create({ ...ask, messages: [user('Hi')] }, { signal: controller.signal })
  setTimeout(() => controller.abort(), 20)

  await expect(pending).rejects.toThrow('aborted')
  await mock.close()
})

test('an answer that nobody stayed to hear is given again', async () => {
  mock.play([{ text: 'a long answer, slowly', chunkSize: 1, chunkDelayMs: 5 }])
  const controller = new AbortController()
  const stream = anthropic().messages.stream({ ...ask, messages: [user('Hi')] }, { signal: controller.signal })
  stream.once('text', () => controller.abort())
  await expect(stream.finalMessage()).rejects.toThrow()

  expect(mock.remaining()).toBe(1)
  await anthropic()
    .messages.stream({ ...ask, messages: [user('Hi')] })
    .finalMessage()
  mock.verify()
})

const ask = { model: 'claude-sonnet-5-5', max_tokens: 100 }

function anthropic(): Anthropic {
  return new Anthropic({ apiKey: 'mock', baseURL: mock.url, maxRetries: 0, logLevel: 'off' })
}

function openai(): OpenAI {
  return new OpenAI({ apiKey: 'mock', baseURL: mock.openaiUrl, maxRetries: 0, logLevel: 'off' })
}

async function play(playbook: Playbook): Promise<MockProvider & AsyncDisposable> {
  const opened = await openMockProvider({ playbook })
  return { ...opened, [Symbol.asyncDispose]: opened.close }
}

function user(content: string): Anthropic.MessageParam {
  return { role: 'user', content }
}

function assistant(content: string): Anthropic.MessageParam {
  return { role: 'assistant', content }
}

function calls(...ids: string[]): Anthropic.MessageParam {
  return { role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'read', input: {} })) }
}

function results(...ids: string[]): { role: 'user'; content: Anthropic.ToolResultBlockParam[] } {
  return { role: 'user', content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })) }
}

function chatCalls(id: string): OpenAI.ChatCompletionMessageParam {
  return { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: '{}' } }] }
}
