import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openMockProvider } from '@matrix/mock-provider'
import type { Route } from '@matrix/provider-loop'
import { defaultModels } from '@matrix/provider-loop'
import { dialUpstream } from '@matrix/tool-manager'
import { expect, onTestFinished, test } from 'vitest'
import { createModelRoutes, findRootModel, type ModelSettings, openAdapters, withScript } from './model-routes.ts'

const anthropic = { anthropicApiKey: 'sk-a' }
const openai = { openaiApiKey: 'sk-o' }
const local = { openaiBaseUrl: 'http://localhost:11434/v1' }

test('with one key and nothing else, root and sub tasks use the usual model of its provider', () => {
  expect(names({ authGroups: { work: anthropic } })).toEqual({
    root: [`anthropic ${defaultModels.anthropic}`],
    child: [`anthropic ${defaultModels.anthropic}`],
  })
  expect(names({ authGroups: { work: openai } }).root).toEqual([`openai-responses ${defaultModels.openai}`])
})

test('the model of root agents is known by name, also where it is the usual one', () => {
  const settings = { fallbackModels: [] }

  expect(findRootModel({ ...settings, authGroups: { work: anthropic } })).toBe(defaultModels.anthropic)
  expect(findRootModel({ ...settings, authGroups: { work: anthropic, o: openai }, defaultAuth: 'o' })).toBe(
    defaultModels.openai,
  )
  expect(findRootModel({ ...settings, authGroups: { work: anthropic }, model: 'big' })).toBe('big')
  expect(findRootModel({ ...settings, authGroups: { home: local } })).toBeUndefined()
  expect(findRootModel({ ...settings, authGroups: { work: anthropic }, defaultAuth: 'gone' })).toBeUndefined()
})

test('a script that plays the models is asked under names that are not theirs', () => {
  const played = (given: Partial<ModelSettings>) =>
    names(withScript({ authGroups: {}, fallbackModels: [], ...given }, 'http://localhost:1'))

  expect(played({})).toEqual({
    root: [`anthropic ${defaultModels.anthropic}-simulated`],
    child: [`anthropic ${defaultModels.anthropic}-simulated`],
  })
  expect(played({ model: 'big', childModel: 'small' }).child).toEqual(['anthropic small-simulated'])
})

test('an address of one’s own is spoken to in the language that all servers know, and OpenAI in its newer one', () => {
  expect(names({ authGroups: { home: local }, model: 'qwen' }).root).toEqual(['openai-chat qwen'])
  const itself = { openaiApiKey: 'sk-o', openaiBaseUrl: 'https://api.openai.com/v1' }
  expect(names({ authGroups: { work: itself }, model: 'm' }).root).toEqual(['openai-responses m'])
})

test('the group called default is the default, and else the first', () => {
  expect(names({ authGroups: { b: openai, default: anthropic } }).root).toEqual([
    `anthropic ${defaultModels.anthropic}`,
  ])
  expect(names({ authGroups: { b: openai, a: anthropic } }).root).toEqual([`openai-responses ${defaultModels.openai}`])
  expect(names({ authGroups: { b: openai, a: anthropic }, defaultAuth: 'a' }).root).toEqual([
    `anthropic ${defaultModels.anthropic}`,
  ])
})

test('sub tasks take the model of the root where their group can offer it, and else the usual one of their own', () => {
  const authGroups = { a: anthropic, a2: { anthropicApiKey: 'sk-2' }, o: openai }

  expect(names({ authGroups, model: 'big' }).child).toEqual(['anthropic big'])
  expect(names({ authGroups, model: 'big', childAuth: 'a2' }).child).toEqual(['anthropic big'])
  expect(names({ authGroups, model: 'big', childAuth: 'o' }).child).toEqual([
    `openai-responses ${defaultModels.openai}`,
  ])
  expect(names({ authGroups, model: 'big', childModel: 'small' }).child).toEqual(['anthropic small'])
})

test('further routes follow in their order, and none twice', () => {
  const fallbackModels = [
    { auth: 'o', model: 'gpt' },
    { auth: 'a', model: 'big' },
    { auth: 'o', model: 'gpt' },
  ]

  expect(names({ authGroups: { a: anthropic, o: openai }, model: 'big', childModel: 'small', fallbackModels })).toEqual(
    {
      root: ['anthropic big', 'openai-responses gpt'],
      child: ['anthropic small', 'openai-responses gpt', 'anthropic big'],
    },
  )
})

test('one set of credentials has one adapter, across calls and whatever its group is called', () => {
  const adapters = openAdapters()
  const secrets = { add: () => {} }
  const routesOf = (settings: Partial<ModelSettings>) =>
    createModelRoutes({ authGroups: {}, fallbackModels: [], ...settings }, { adapters, secrets })
  const first = routesOf({ authGroups: { a: anthropic }, childModel: 'small' })
  const again = routesOf({ authGroups: { b: { ...anthropic } } })
  const other = routesOf({ authGroups: { a: { anthropicApiKey: 'sk-new' } } })

  expect(first.root[0]?.adapter).toBe(first.child[0]?.adapter)
  expect(again.root[0]?.adapter).toBe(first.root[0]?.adapter)
  expect(other.root[0]?.adapter).not.toBe(first.root[0]?.adapter)
})

test('every credential is made known as a secret, also of groups that are not used', () => {
  const seen: [string, string][] = []
  const authGroups = { a: anthropic, b: openai, c: { claudeOauthToken: 'tok' }, d: local }
  createModelRoutes(
    { authGroups, fallbackModels: [] },
    { adapters: openAdapters(), secrets: { add: (name, value) => seen.push([name, value]) } },
  )

  expect(seen).toEqual([
    ['authGroups.a.anthropicApiKey', 'sk-a'],
    ['authGroups.b.openaiApiKey', 'sk-o'],
    ['authGroups.c.claudeOauthToken', 'tok'],
  ])
})

test.each<[string, Partial<ModelSettings>, string, RegExp]>([
  ['nothing at all', {}, 'PROVIDER_MISSING', /authGroups\.default\.anthropicApiKey/],
  ['a group that does not exist', { authGroups: { a: anthropic }, defaultAuth: 'b' }, 'PROVIDER_MISSING', /\(a\)/],
  ['an odd name', { authGroups: { a: anthropic }, defaultAuth: 'toString' }, 'PROVIDER_MISSING', /\(a\)/],
  ['a child group that does not exist', { authGroups: { a: anthropic }, childAuth: 'b' }, 'PROVIDER_MISSING', /\(a\)/],
  ['a group without a key', { authGroups: { a: { provider: 'openai' } } }, 'PROVIDER_MISSING', /a\.openaiApiKey/],
  ['a group whose variable is not set', { authGroups: { a: {} } }, 'PROVIDER_MISSING', /a\.anthropicApiKey/],
  [
    'a fallback that does not exist',
    { authGroups: { a: anthropic }, fallbackModels: [{ auth: 'x', model: 'm' }] },
    'PROVIDER_MISSING',
    /\(a\)/,
  ],
  ['an address of one’s own without a model', { authGroups: { a: local } }, 'CONFIG_INVALID', /config set model/],
  [
    'a child’s address of its own, with the model of the root',
    { authGroups: { a: openai, b: local }, model: 'gpt', childAuth: 'b' },
    'CONFIG_INVALID',
    /config set childModel/,
  ],
])('what is missing is named, with what to do: %s', (_what, settings, code, hint) => {
  expect(() => names(settings)).toThrow(expect.objectContaining({ code, hint: expect.stringMatching(hint) }))
})

test('a route reaches its provider with its own key, in its own language', async () => {
  const mock = await openMockProvider({ turns: [{ text: 'one' }, { text: 'two', fresh: true }] })
  const adapters = openAdapters()
  const routes = createModelRoutes(
    {
      authGroups: {
        a: { anthropicApiKey: 'sk-a', anthropicBaseUrl: mock.url },
        o: { openaiApiKey: 'sk-o', openaiBaseUrl: mock.openaiUrl },
      },
      childAuth: 'o',
      childModel: 'qwen',
      fallbackModels: [],
    },
    { adapters, secrets: { add: () => {} } },
  )
  const answers = [await ask(routes.root[0]), await ask(routes.child[0])]
  adapters.close()
  await mock.close()

  expect(answers).toEqual(['one', 'two'])
  expect(mock.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/v1/messages', 'Bearer sk-a'],
    ['/v1/chat/completions', 'Bearer sk-o'],
  ])
  expect(mock.requests.map(({ body }) => JSON.parse(body).model)).toEqual([defaultModels.anthropic, 'qwen'])
})

function names(settings: Partial<ModelSettings>): { root: string[]; child: string[] } {
  const { root, child } = createModelRoutes(
    { authGroups: {}, fallbackModels: [], ...settings },
    { adapters: openAdapters(), secrets: { add: () => {} } },
  )
  const show = ({ adapter, model }: Route) => `${adapter.name} ${model}`
  return { root: root.map(show), child: child.map(show) }
}

async function ask(route: Route | undefined): Promise<string> {
  if (!route) throw new Error('no route')
  const { adapter, model } = route
  const open = adapter
    .buildImplicitYieldMessage([{ type: 'text', text: 'Hello' }])
    .map((message) => JSON.stringify(message))
    .join(',')
  const call = {
    model,
    prepared: adapter.prepareTools([], 'Be brief.'),
    messages: { closed: new Uint8Array(), userEnd: 0, open },
    maxOutputTokens: 100,
    sessionId: 's',
    signal: new AbortController().signal,
  }
  return (await adapter.callAPI(call, () => {})).text
}

test('models are asked through the proxy of the environment', async () => {
  const asked: string[] = []
  const proxy = createServer().on('connect', (request, socket) => {
    asked.push(`CONNECT ${request.url}`)
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    socket.once('data', (chunk: Buffer) => {
      asked.push(String(chunk).split('\r\n')[0] ?? '')
      const list = JSON.stringify({ object: 'list', data: [{ id: 'far-away' }] })
      socket.end(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${list.length}\r\n\r\n${list}`)
    })
  })
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  onTestFinished(() => void proxy.close())
  const { port } = proxy.address() as AddressInfo
  const adapters = openAdapters({ dial: dialUpstream({ HTTP_PROXY: `http://127.0.0.1:${port}` }) })
  onTestFinished(adapters.close)
  const adapter = adapters.get({ openaiApiKey: 'sk-o', openaiBaseUrl: 'http://models.example.com/v1' })

  expect(await adapter.listModels(AbortSignal.timeout(5000))).toEqual(['far-away'])
  expect(asked).toEqual(['CONNECT models.example.com:80', 'GET /v1/models HTTP/1.1'])
})
