import Anthropic from '@anthropic-ai/sdk'
import { afterEach, expect, test } from 'vitest'
import { type MockProvider, openMockProvider } from './mock-provider.ts'
import type { Playbook } from './playbook.ts'

type Message = Anthropic.MessageParam

let mock: MockProvider
afterEach(() => mock.close())

test('the same request gets the same answer, from this mock and from one that was started later', async () => {
  const playbook = stateless({ turns: [{ toolCalls: [call('read')] }, { text: 'Done.', toolCalls: [call('write')] }] })
  const opening: Message[] = [user('Go')]
  mock = await openMockProvider({ playbook })
  const first = await ask(opening)
  const second = await ask([...opening, ...answered(first)])
  const again = await ask(opening)
  await mock.close()
  mock = await openMockProvider({ playbook })

  expect(again.content).toEqual(first.content)
  expect((await ask([...opening, ...answered(first)])).content).toEqual(second.content)
  expect((await ask(opening)).content).toEqual(first.content)
  expect(idsOf(second)).not.toEqual(idsOf(first))
  mock.verify()
})

test('a mock that begins in the middle counts the turns before as played, and reports those that never come', async () => {
  mock = await openMockProvider({ playbook: stateless({ turns: [{ text: '1' }, { text: '2' }, { text: '3' }] }) })
  await ask([user('Go'), assistant('1'), user('On')])

  expect(mock.remaining()).toBe(1)
  await ask([user('Go'), assistant('1'), user('On'), assistant('2'), user('And on')])
  mock.verify()
  await expect(
    ask([user('Go'), assistant('1'), user('On'), assistant('2'), user('And on'), assistant('3'), user('More')]),
  ).rejects.toThrow('a request too many, all 3 scripted turns were played')
})

test('what was captured is found again in the request itself', async () => {
  const capture = { id: { from: 'userText' as const, pattern: 'task (\\w+)' } }
  mock = await openMockProvider({
    playbook: stateless({ turns: [{ capture, text: 'Yes.' }, { text: 'Well?' }, { text: 'It was {{id}}.' }] }),
  })
  const history = [user('Take task K7'), assistant('Yes.'), user('a'), assistant('Well?'), user('Which was it?')]

  expect((await ask(history)).content).toMatchObject([{ text: 'It was K7.' }])
})

test('a summary that holds its place lets the story go on when the history is gone', async () => {
  const capture = { id: { from: 'userText' as const, pattern: 'task (.*)' } }
  mock = await openMockProvider({
    playbook: stateless({
      name: 'The parser',
      match: 'Begin',
      turns: [
        { capture, text: '<summary>{{place}}</summary>' },
        { fresh: true, text: 'On with {{id}}.' },
      ],
    }),
  })
  const summary = textOf(await ask([user('Begin task K 7')]))

  expect(summary).toBe('<summary>[story The%20parser#1 id=K%207]</summary>')
  expect(textOf(await ask([user(`Memory.\n${summary}`)]))).toBe('On with K 7.')
  mock.verify()
})

test('an aside answers what the script does not know, and leaves the script where it was', async () => {
  mock = await openMockProvider({
    playbook: {
      stateless: true,
      asides: [{ when: 'summary', text: 'A summary.' }],
      conversations: [{ otherwise: [{ text: 'Wait.' }], turns: [{ assert: { userText: 'Go' }, text: 'Gone.' }] }],
    },
  })
  const history = [user('Hello?')]
  for (const [said, answer] of [
    ['Write a summary', 'Wait.'],
    ['Go', 'A summary.'],
    ['More?', 'Gone.'],
  ] as const) {
    expect(textOf(await ask(history))).toBe(answer)
    history.push(assistant(answer), user(said))
  }

  expect(textOf(await ask(history))).toBe('Wait.')
  mock.verify()
})

test('a turn that needs several things to have been heard takes them in any order, at once or one by one', async () => {
  const playbook = stateless({
    otherwise: [{ when: 'passed', text: 'Waiting for the others.' }],
    turns: [{ text: 'Started.' }, { assert: { heard: ['A passed', 'B passed'] }, text: 'Merged.' }],
  })
  mock = await openMockProvider({ playbook })
  const started = [user('Go'), assistant('Started.')]

  expect(textOf(await ask([...started, user('B passed')]))).toBe('Waiting for the others.')
  const late = [...started, user('B passed'), assistant('Waiting for the others.'), user('A passed')]
  expect(textOf(await ask(late))).toBe('Merged.')
  expect(textOf(await ask([user('Go!'), assistant('Started.'), user('A passed, B passed')]))).toBe('Merged.')
})

test('calls that were interrupted are made again with the same arguments, and only those', async () => {
  mock = await openMockProvider({
    playbook: stateless({
      asides: [{ when: 'was interrupted', again: true }],
      turns: [{ toolCalls: [call('read'), call('write')] }, { text: 'Written.' }],
    }),
  })
  const opening = [user('Go')]
  const first = await ask(opening)
  const cut = [...opening, assistant(first.content), results(first, 'ok', 'It was interrupted')]
  const second = await ask(cut)
  const third = await ask([...cut, assistant(second.content), results(second, 'ok')])

  expect(second.content).toEqual([{ type: 'tool_use', id: expect.any(String), name: 'write', input: { path: 'a' } }])
  expect(idsOf(first)).not.toContain(idsOf(second)[0])
  expect(textOf(third)).toBe('Written.')
  mock.verify()
})

test('faults of an aside hit one request each, like those of a turn', async () => {
  mock = await openMockProvider({
    playbook: stateless({
      asides: [{ when: 'Hi', text: 'Hello.', faults: [{ kind: 'status', status: 529 }] }],
      turns: [],
    }),
  })

  await expect(ask([user('Hi')])).rejects.toMatchObject({ status: 529 })
  expect(textOf(await ask([user('Hi')]))).toBe('Hello.')
})

test('an agent that inherited a history plays its own conversation from where its own begins', async () => {
  mock = await openMockProvider({
    playbook: stateless(
      { name: 'child', forkedAt: 'You are now', turns: [{ text: 'I am the child.' }, { text: 'Still.' }] },
      { name: 'parent', turns: [{ text: 'One' }, { text: 'Two' }, { text: 'Three' }] },
    ),
  })
  const shared = [user('Go'), assistant('One'), user('a'), assistant('Two')]
  const forked = [...shared, user('You are now the agent of Parser')]

  expect(textOf(await ask(forked))).toBe('I am the child.')
  expect(textOf(await ask([...forked, assistant('I am the child.'), user('And now?')]))).toBe('Still.')
  expect(textOf(await ask([...shared, user('b')]))).toBe('Three')
  mock.verify()
})

test('a history that was rebuilt wrongly is refused, one that is asked for again is not', async () => {
  mock = await openMockProvider({ playbook: stateless({ turns: [{ text: '1' }, { text: '2' }, { text: '3' }] }) })
  await ask([user('Go'), assistant('1'), user('a'), assistant('2'), user('b')])
  await ask([user('Go'), assistant('1'), user('a')])

  await expect(ask([user('Go'), assistant('1'), user('x')])).rejects.toThrow('prefix consistency')
})

test('a playbook that cannot be played is refused when the mock is opened', async () => {
  mock = await openMockProvider()

  await expect(openMockProvider({ playbook: stateless({ turns: [{ thinking: 'Hm.' }] }) })).rejects.toThrow(
    'conversations.0.turns.0: says nothing',
  )
})

function stateless(...conversations: Playbook['conversations']): Playbook {
  return { stateless: true, conversations }
}

function call(name: string): { name: string; input: object } {
  return { name, input: { path: 'a' } }
}

function ask(messages: Message[]): Promise<Anthropic.Message> {
  const client = new Anthropic({ apiKey: 'mock', baseURL: mock.url, maxRetries: 0, logLevel: 'off' })
  return client.messages.create({ model: 'claude-sonnet-4-6', max_tokens: 100, messages })
}

function user(content: string): Message {
  return { role: 'user', content }
}

function assistant(content: string | Anthropic.ContentBlock[]): Message {
  return { role: 'assistant', content }
}

function answered(message: Anthropic.Message): Message[] {
  return [assistant(message.content), results(message, ...message.content.map(() => 'ok'))]
}

function results(message: Anthropic.Message, ...texts: string[]): Message {
  return {
    role: 'user',
    content: idsOf(message).map((id, index) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: texts[index] ?? '',
    })),
  }
}

function idsOf(message: Anthropic.Message): string[] {
  return message.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
}

function textOf(message: Anthropic.Message): string {
  return message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')
}
