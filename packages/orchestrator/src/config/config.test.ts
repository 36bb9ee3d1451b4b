import { ConfigView } from '@matrix/protocol/http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openConfig } from './config.ts'
import { type MemoryWorld, memoryWorld } from './memory-world.testing.ts'
import { openTrust } from './trust.ts'

const globalFile = '/data/config.json'
const repoFile = '/repo/.mxd/config.json'
const localFile = '/data/projects/P1/config.json'
const project = { id: 'P1', path: '/repo' }

test('with no file at all, every key with a default has it', async () => {
  const { settings, problems } = await open({}).config.resolve(project)

  expect(settings).toMatchObject({
    maxDepth: 5,
    port: 7433,
    sandbox: 'auto',
    agent: 'default',
    deny: [],
    authGroups: {},
  })
  expect(settings.model).toBeUndefined()
  expect(problems).toEqual([])
})

test('local overrides repo, and repo overrides global', async () => {
  const { config } = open({
    [globalFile]: '{ "model": "g", "childModel": "g", "clarifyTimeoutMs": 1000 }',
    [repoFile]: '{ "model": "r", "childModel": "r" }',
    [localFile]: '{ "model": "l" }',
  })

  expect((await config.resolve(project)).settings).toMatchObject({
    model: 'l',
    childModel: 'r',
    clarifyTimeoutMs: 1000,
  })
})

test('without a project, only the global layer counts', async () => {
  const { config } = open({ [globalFile]: '{ "model": "g" }', [localFile]: '{ "model": "l" }' })

  expect((await config.resolve()).settings.model).toBe('g')
})

test('auth groups are united by name, each whole from the highest layer that has it', async () => {
  const { config } = open({
    [globalFile]: '{ "authGroups": { "a": { "anthropicApiKey": "k1" }, "b": { "openaiApiKey": "k2" } } }',
    [localFile]: '{ "authGroups": { "b": { "openaiBaseUrl": "http://localhost:1" } } }',
  })

  expect((await config.resolve(project)).settings.authGroups).toEqual({
    a: { provider: 'anthropic', anthropicApiKey: 'k1' },
    b: { provider: 'openai', openaiBaseUrl: 'http://localhost:1' },
  })
})

test('every layer adds to deny, and none can take a denial back', async () => {
  const { config } = open({
    [globalFile]: '{ "deny": ["bash"] }',
    [repoFile]: '{ "deny": [] }',
    [localFile]: '{ "deny": ["@fetch/*", "bash"] }',
  })

  expect((await config.resolve(project)).settings.deny).toEqual(['bash', '@fetch/*'])
})

test('a repository can lower a limit and never raise it', async () => {
  const { config } = open({
    [globalFile]: '{ "budgetUsd": 5, "treeBudgetUsd": 20 }',
    [repoFile]: '{\n  "budgetUsd": 50,\n  "treeBudgetUsd": 2,\n  "maxDepth": 9\n}',
  })
  const { settings, problems } = await config.resolve(project)

  expect(settings).toMatchObject({ budgetUsd: 5, treeBudgetUsd: 2, maxDepth: 5 })
  expect(problems.map(({ key, line }) => [key, line])).toEqual([
    ['budgetUsd', 2],
    ['maxDepth', 4],
  ])
})

test('where the user sets no limit, that of the repository holds', async () => {
  const { config } = open({ [repoFile]: '{ "budgetUsd": 50 }' })

  expect((await config.resolve(project)).settings.budgetUsd).toBe(50)
})

test('the local layer may raise a limit again', async () => {
  const { config } = open({
    [globalFile]: '{ "budgetUsd": 5 }',
    [repoFile]: '{ "budgetUsd": 1 }',
    [localFile]: '{ "budgetUsd": 80 }',
  })

  expect((await config.resolve(project)).settings.budgetUsd).toBe(80)
})

test.each([
  ['authGroups', '{ "a": { "anthropicApiKey": "k" } }'],
  ['defaultAuth', '"a"'],
  ['childAuth', '"a"'],
  ['fallbackModels', '[{ "auth": "a", "model": "m" }]'],
  ['agent', '"root"'],
  ['maxConcurrentModelCalls', '99'],
  ['maxConcurrentHeavyTools', '99'],
  ['sandbox', '"off"'],
  ['durability', '"relaxed"'],
  ['sessionKeep', '0'],
  ['port', '80'],
  ['auth', '{ "allowedHosts": ["evil.example"] }'],
  ['telemetry', '{ "otlpEndpoint": "https://evil.example" }'],
  ['selfBootstrap', 'true'],
])('a repository cannot set %s', async (key, value) => {
  const { config } = open({ [repoFile]: `{\n  "${key}": ${value}\n}` })
  const plain = await open({}).config.resolve(project)
  const { settings, problems } = await config.resolve(project)

  expect(settings).toEqual(plain.settings)
  expect(problems[0]).toMatchObject({ layer: 'repo', file: repoFile, line: 2, key })
  await expect(config.set('repo', key, JSON.parse(value), project)).rejects.toMatchObject({ code: 'CONFIG_FORBIDDEN' })
})

test('a mode for the repository of Matrix itself is refused with the reason', async () => {
  const { config } = open({ [globalFile]: '{ "selfBootstrap": true }' })

  const { settings, problems } = await config.resolve(project)
  expect(settings.selfBootstrap).toBe(false)
  expect(problems).toMatchObject([{ message: expect.stringContaining('works on its own repository as on any other') }])
  await expect(config.set('local', 'selfBootstrap', true, project)).rejects.toThrow('without a mode')
})

test('a layer that is not JSON is named with its line and left out, and the others count', async () => {
  const { config } = open({ [globalFile]: '{ "model": "g" }', [repoFile]: '{\n  "model": "r",\n  "childModel" "r"\n}' })
  const { settings, problems } = await config.resolve(project)

  expect(settings.model).toBe('g')
  expect(problems).toMatchObject([{ layer: 'repo', file: repoFile, line: 3, key: null }])
})

test('a file that cannot be read is a problem of its layer alone', async () => {
  const { config, world } = open({ [globalFile]: '{ "model": "g" }' })
  const { read } = world.files
  world.files.read = async (path) => {
    if (path === localFile) throw new Error('EACCES')
    return read(path)
  }
  const { settings, problems } = await config.resolve(project)

  expect(settings.model).toBe('g')
  expect(problems).toMatchObject([{ layer: 'local', file: localFile, line: null }])
})

test('a value of the wrong kind is left out with its line, and the rest of the file counts', async () => {
  const { config } = open({ [globalFile]: '{\n  "port": "many",\n  "model": "g",\n  "maxDepth": 0 // none\n}' })
  const { settings, problems } = await config.resolve()

  expect(settings).toMatchObject({ port: 7433, model: 'g', maxDepth: 5 })
  expect(problems.map(({ line, message }) => [line, message])).toEqual([
    [2, '"port" must be a number.'],
    [4, '"maxDepth" must be at least 1.'],
  ])
})

test('one bad entry does not take its neighbours away', async () => {
  const { config } = open({
    [globalFile]:
      '{ "mcpServers": {\n "good": { "command": "node" },\n "bad": { "args": [] },\n "Bad": { "command": "x" } } }',
  })
  const { settings, problems } = await config.resolve()

  expect(settings.mcpServers).toEqual({ good: { command: 'node' } })
  expect(problems.map(({ key, line }) => [key, line])).toEqual([
    ['mcpServers.bad.command', 3],
    ['mcpServers.Bad', 4],
  ])
  expect(problems[0]?.message).toBe('"mcpServers.bad.command" is required: text.')
})

test("a server of the settings cannot take an alias of Matrix's own tools", async () => {
  const entry = '{ "command": "node" }'
  const { config } = open({
    [globalFile]: `{ "mcpServers": {\n "mxd": ${entry},\n "builtin": ${entry},\n "native": ${entry},\n "mxd-2": ${entry} } }`,
  })
  const { settings, problems } = await config.resolve()

  expect(Object.keys(settings.mcpServers)).toEqual(['mxd-2'])
  expect(problems.map(({ key, line }) => [key, line])).toEqual([
    ['mcpServers.mxd', 2],
    ['mcpServers.builtin', 3],
    ['mcpServers.native', 4],
  ])
})

test('an unknown key is a problem that names the one that was meant', async () => {
  const { config } = open({ [globalFile]: '{ "modle": "x", "zzz": 1, "authGroups": { "a": { "openaiApiKy": "k" } } }' })
  const { problems } = await config.resolve()

  expect(problems.map(({ key, hint }) => [key, hint])).toEqual([
    ['modle', 'Did you mean "model"?'],
    ['zzz', 'Remove it; matrix config list shows all there are.'],
    ['authGroups.a.openaiApiKy', 'Did you mean "openaiApiKey"?'],
    ['authGroups.a', 'Correct the value.'],
  ])
})

test('names that mean something to JavaScript are just unknown', async () => {
  const { config } = open({ [globalFile]: '{ "constructor": 1, "toString": 2, "auth": { "constructor": 3 } }' })
  const { settings, problems } = await config.resolve()

  expect(problems.map(({ key }) => key)).toEqual(['constructor', 'toString', 'auth.constructor'])
  expect(settings.auth).toEqual({})
  const poisoned = await open({ [globalFile]: '{ "__proto__": { "model": "x" } }' }).config.resolve()
  expect(poisoned.settings.model).toBeUndefined()
  expect(poisoned.problems).toMatchObject([{ line: 1 }])
})

test('comments, trailing commas, a byte order mark and a blank file are welcome', async () => {
  const { config } = open({ [globalFile]: '\uFEFF{\n  // mine\n  "model": "g", /* here */\n}', [repoFile]: ' \n' })
  const { settings, problems } = await config.resolve(project)

  expect(settings.model).toBe('g')
  expect(problems).toEqual([])
})

test('a server of the repository is not there until exactly its entry is approved', async () => {
  const { config, world } = open({
    [repoFile]: '{\n "mcpServers": {\n  "db": { "command": "node", "args": ["x.js"] } } }',
  })
  const before = await config.resolve(project)
  const [waiting] = before.unapprovedServers

  expect(before.settings.mcpServers).toEqual({})
  expect(before.problems).toMatchObject([{ key: 'mcpServers.db', line: 3 }])
  expect(waiting).toMatchObject({ name: 'db', server: { command: 'node', args: ['x.js'] }, line: 3 })

  await config.approveServer(project, 'db', waiting?.digest ?? '')
  expect((await config.resolve(project)).settings.mcpServers).toEqual({ db: { command: 'node', args: ['x.js'] } })
  expect(await config.unapprovedServers(project)).toEqual([])

  world.disk.set(repoFile, '{ "mcpServers": { "db": { "command": "node", "args": ["y.js"] } } }')
  expect((await config.resolve(project)).settings.mcpServers).toEqual({})
})

test('an approval for one project says nothing about another', async () => {
  const text = '{ "mcpServers": { "db": { "command": "node", "args": ["x.js"] } } }'
  const { config } = open({ [repoFile]: text, '/other/.mxd/config.json': text })
  const [waiting] = await config.unapprovedServers(project)
  await config.approveServer(project, 'db', waiting?.digest ?? '')

  expect(await config.unapprovedServers({ id: 'P2', path: '/other' })).toHaveLength(1)
})

test('an approval of what is no longer there is refused', async () => {
  const { config, world } = open({ [repoFile]: '{ "mcpServers": { "db": { "command": "a" } } }' })
  const [waiting] = await config.unapprovedServers(project)
  world.disk.set(repoFile, '{ "mcpServers": { "db": { "command": "b" } } }')

  await expect(config.approveServer(project, 'db', waiting?.digest ?? '')).rejects.toMatchObject({
    code: 'APPROVAL_UNKNOWN',
  })
  expect(await config.unapprovedServers(project)).toHaveLength(1)
})

test('an unapproved server does not take the place of the user’s own of that name', async () => {
  const { config } = open({
    [globalFile]: '{ "mcpServers": { "db": { "command": "mine" } } }',
    [repoFile]: '{ "mcpServers": { "db": { "command": "theirs" } } }',
  })

  expect((await config.resolve(project)).settings.mcpServers).toEqual({ db: { command: 'mine' } })
})

test('what is taken back is no longer approved', async () => {
  const world = memoryWorld({ [repoFile]: '{ "mcpServers": { "db": { "command": "a" } } }' })
  const trust = openTrust(world, { dataDirectory: '/data' })
  const config = openConfig(world, { dataDirectory: '/data', trust })
  const [waiting] = await config.unapprovedServers(project)
  await config.approveServer(project, 'db', waiting?.digest ?? '')
  const [trusted] = await trust.list()
  await trust.remove(trusted?.digest ?? '')

  expect(trusted).toMatchObject({ kind: 'server', name: 'db', projectId: 'P1' })
  expect(await config.unapprovedServers(project)).toHaveLength(1)
})

test('a damaged file of approvals approves nothing', async () => {
  const { config, world } = open({ [repoFile]: '{ "mcpServers": { "db": { "command": "a" } } }' })
  const [waiting] = await config.unapprovedServers(project)
  await config.approveServer(project, 'db', waiting?.digest ?? '')
  world.disk.set('/data/approvals/repositories.json', '{"trusted": [')

  expect(await config.unapprovedServers(project)).toHaveLength(1)
})

test('a credential in a file of the repository is named with its line, ignored and not repeated', async () => {
  const { config } = open({
    [repoFile]:
      '{ "authGroups": { "a": {\n "anthropicApiKey": "sk-ant-1234567890abcdef" } },\n "mcpServers": { "gh": { "command": "gh", "env": {\n "GH_TOKEN": "ghp_1234567890abcdefghijklmn" } },\n "x": { "command": "x", "args": ["--api-key=hunter2hunter2"] },\n "ok": { "command": "x", "env": { "GH_TOKEN": "$env:GH_TOKEN" } } } }',
  })
  const { settings, problems, unapprovedServers } = await config.resolve(project)

  expect(settings.authGroups).toEqual({})
  expect(unapprovedServers.map(({ name }) => name)).toEqual(['ok'])
  expect(problems.map(({ key, line }) => [key, line])).toEqual([
    ['authGroups', 1],
    ['authGroups.a.anthropicApiKey', 2],
    ['mcpServers.gh.env.GH_TOKEN', 4],
    ['mcpServers.x.args.0', 5],
    ['mcpServers.ok', 6],
  ])
  expect(JSON.stringify(problems)).not.toMatch(/sk-ant-1|ghp_1|hunter2/)
})

test('what is wrong with a value is said without repeating it', async () => {
  const { config } = open({ [globalFile]: '{ "defaultAuth": "sk-ant-secret value", "port": "sk-ant-secret" }' })

  expect(JSON.stringify((await config.resolve()).problems)).not.toContain('sk-ant-secret')
})

test('an address must not carry a credential', async () => {
  const { config } = open({
    [globalFile]: '{ "authGroups": { "a": { "openaiBaseUrl": "https://u:hunter22@h.example/" } } }',
  })
  const { settings, problems } = await config.resolve()

  expect(settings.authGroups).toEqual({})
  expect(problems[0]?.message).toBe('"authGroups.a.openaiBaseUrl" must be an address without a credential in it.')
})

test('a group with the keys of two providers is refused', async () => {
  const { config } = open({
    [globalFile]:
      '{ "authGroups": { "a": { "openaiApiKey": "x", "anthropicApiKey": "y" }, "b": { "provider": "openai", "anthropicApiKey": "y" }, "c": {} } }',
  })
  const { settings, problems } = await config.resolve()

  expect(settings.authGroups).toEqual({})
  expect(problems.map(({ key }) => key)).toEqual(['authGroups.a', 'authGroups.b', 'authGroups.c'])
})

test('where no group is configured, the environment gives one for each key it holds', async () => {
  const environment = {
    ANTHROPIC_API_KEY: 'k1',
    CLAUDE_CODE_OAUTH_TOKEN: 't',
    OPENAI_API_KEY: ' k2 ',
    OPENAI_BASE_URL: '',
  }
  const { settings } = await open({}, environment).config.resolve()

  expect(settings.authGroups).toEqual({
    anthropic: { provider: 'anthropic', anthropicApiKey: 'k1' },
    openai: { provider: 'openai', openaiApiKey: 'k2' },
  })
  const token = await open({}, { CLAUDE_CODE_OAUTH_TOKEN: 't' }).config.resolve()
  expect(token.settings.authGroups).toEqual({ anthropic: { provider: 'anthropic', claudeOauthToken: 't' } })
})

test('a configured group silences the environment', async () => {
  const { config } = open(
    { [globalFile]: '{ "authGroups": { "a": { "openaiApiKey": "k" } } }' },
    { ANTHROPIC_API_KEY: 'k1' },
  )

  expect(Object.keys((await config.resolve()).settings.authGroups)).toEqual(['a'])
})

test('a key may name a variable that holds it', async () => {
  const text =
    '{ "authGroups": {\n "a": { "anthropicApiKey": "$env:WORK_KEY" },\n "b": { "openaiApiKey": "$env:NO_KEY" } } }'
  const { settings, problems } = await open({ [globalFile]: text }, { WORK_KEY: 'k9' }).config.resolve()

  expect(settings.authGroups).toEqual({
    a: { provider: 'anthropic', anthropicApiKey: 'k9' },
    b: { provider: 'openai' },
  })
  expect(problems).toMatchObject([{ key: 'authGroups.b.openaiApiKey', line: 3 }])
})

test('a set value is in force at once and stands in the file it was set in, comments kept', async () => {
  const { config, world } = open({ [globalFile]: '{\n  // the good one\n  "model": "a"\n}\n' })
  await config.set('global', 'model', 'b')
  await config.set('local', 'budgetUsd', 3, project)
  await config.set('repo', 'maxDepth', 2, project)

  expect(world.disk.get(globalFile)).toBe('{\n  // the good one\n  "model": "b"\n}\n')
  expect((await config.resolve(project)).settings).toMatchObject({ model: 'b', budgetUsd: 3, maxDepth: 2 })
  expect([...world.disk.keys()]).toEqual([globalFile, localFile, repoFile])
})

test('the first key can be set on its own, and its kind says which provider it is for', async () => {
  const { config } = open({})
  await config.set('global', 'authGroups.default.anthropicApiKey', 'sk-ant-0123456789abcdef')

  expect((await config.resolve()).settings.authGroups).toEqual({
    default: { provider: 'anthropic', anthropicApiKey: 'sk-ant-0123456789abcdef' },
  })
})

test('an unset value is gone, and so is the entry that has nothing left', async () => {
  const { config, world } = open({})
  await config.set('global', 'model', 'm')
  await config.set('global', 'authGroups.work.openaiApiKey', 'k')
  await config.unset('global', 'authGroups.work.openaiApiKey')

  expect(JSON.parse(world.disk.get(globalFile) ?? '')).toEqual({ model: 'm' })
})

test.each(['gpt-4.1', 'claude-3.5', 'qwen2.5-coder:7b', 'plain'])('the price of %s is set and unset', async (model) => {
  const { config, world } = open({})
  await config.set('global', `prices.${model}`, { input: 1, output: 2 })
  await config.set('global', `prices.${model}.cacheRead`, 0.5)
  expect((await config.resolve()).settings.prices).toEqual({ [model]: { input: 1, output: 2, cacheRead: 0.5 } })
  await config.unset('global', `prices.${model}.cacheRead`)
  expect((await config.resolve()).settings.prices).toEqual({ [model]: { input: 1, output: 2 } })
  await config.unset('global', `prices.${model}`)

  expect(JSON.parse(world.disk.get(globalFile) ?? '')).toEqual({})
})

test('unsetting what is not set changes nothing', async () => {
  const { config, world } = open({ [globalFile]: '{}' })
  world.onWrite = () => {
    throw new Error('written')
  }
  await config.unset('global', 'model')

  expect(world.disk.get(globalFile)).toBe('{}')
})

test.each([
  ['port', 'eighty'],
  ['port', 0],
  ['model', ''],
  ['model', null],
  ['nonsense', 1],
  ['authGroups.work.nonsense', 'x'],
  ['authGroups.__proto__.openaiApiKey', 'x'],
  ['authGroups..openaiApiKey', 'x'],
  ['mcpServers.db.args', ['x']],
  ['mcpServers.__proto__', { command: 'x' }],
  ['sandbox', 'sometimes'],
])('a wrong value is refused and nothing is written: %s = %j', async (key, value) => {
  const { config, world } = open({ [globalFile]: '{ "model": "a" }' })

  await expect(config.set('global', key, value)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  expect(world.disk.get(globalFile)).toBe('{ "model": "a" }')
})

test('a wrong value elsewhere in the file does not keep anybody from correcting another, nor that one', async () => {
  const { config, world } = open({ [globalFile]: '{ "port": "x", "authGroups": { "a": {} } }' })
  await config.set('global', 'model', 'b')
  await config.set('global', 'authGroups.b.openaiApiKey', 'k')
  await config.set('global', 'port', 80)

  expect(JSON.parse(world.disk.get(globalFile) ?? '')).toMatchObject({ model: 'b', port: 80 })
  await expect(config.set('global', 'authGroups.a.provider', 'x')).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

test('a wrong value is refused also where the same was wrong before', async () => {
  const { config } = open({ [globalFile]: '{ "port": "x" }' })

  await expect(config.set('global', 'port', 'y')).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

test('a file that is not JSON is not edited, and its line is named', async () => {
  const { config, world } = open({ [globalFile]: '{\n  "model" "a"\n}' })

  await expect(config.set('global', 'model', 'b')).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(`${globalFile}:2`),
  })
  expect(world.disk.get(globalFile)).toBe('{\n  "model" "a"\n}')
})

test('a secret is never written into the repository', async () => {
  const { config, world } = open({})
  const env = { GH_TOKEN: 'ghp_1234567890abcdefghijklmn' }
  const set = config.set('repo', 'mcpServers.gh', { command: 'gh', env }, project)

  await expect(set).rejects.toMatchObject({ code: 'CONFIG_FORBIDDEN', message: expect.not.stringContaining('ghp_1') })
  await expect(config.set('repo', 'mcpServers.gh.env', env, project)).rejects.toMatchObject({
    code: 'CONFIG_FORBIDDEN',
  })
  expect(world.disk.has(repoFile)).toBe(false)
})

test('a layer of a project needs a project', async () => {
  await expect(open({}).config.set('local', 'model', 'x')).rejects.toMatchObject({ code: 'REQUEST_INVALID' })
})

test('edits wait for each other, and one that fails does not hold up the next', async () => {
  const { config, world } = open({})
  let writes = 0
  world.onWrite = async () => {
    writes += 1
    await new Promise((resolve) => setTimeout(resolve, 1))
    if (writes === 2) throw new Error('no space')
  }
  const edits = [
    config.set('global', 'model', 'm'),
    config.set('global', 'port', 81),
    config.set('global', 'maxDepth', 3),
  ]

  expect((await Promise.allSettled(edits)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(JSON.parse(world.disk.get(globalFile) ?? '')).toEqual({ model: 'm', maxDepth: 3 })
})

test('whatever is set and taken back again leaves the file as it was read', async () => {
  const setting = fc.constantFrom<[string, unknown]>(
    ['model', 'x'],
    ['authGroups.new.openaiApiKey', 'k'],
    ['mcpServers.new', { command: 'c', env: { A: 'b' } }],
    ['deny', ['bash']],
    ['auth.sessionIdleMs', 5_000],
  )
  const start = '{\n  // one\n  "port": 80, // two\n  /* three */ "auth": { "sessionMaxMs": 9000 }\n  // four\n}\n'
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(setting, { selector: ([key]) => key }), async (edits) => {
      const { config, world } = open({ [globalFile]: start })
      for (const [key, value] of edits) await config.set('global', key, value)
      for (const [key] of edits) await config.unset('global', key)

      expect(world.disk.get(globalFile)?.replaceAll(/\s+/g, ' ')).toBe(start.replaceAll(/\s+/g, ' '))
    }),
    { numRuns: 50 },
  )
})

test('the view names every setting, where it comes from, and who may set it', async () => {
  const { config } = open({
    [globalFile]: '{\n  "model": "a" }',
    [localFile]: '{ "mcpServers": { "db": { "command": "c" } } }',
  })
  const view = await config.view(project)
  const find = (key: string) => view.entries.find((entry) => entry.key === key)

  expect(find('model')).toMatchObject({ value: 'a', origin: 'global', file: globalFile, line: 2 })
  expect(find('mcpServers.db.command')).toMatchObject({ value: 'c', origin: 'local', file: localFile, line: 1 })
  expect(find('port')).toMatchObject({ value: 7433, origin: 'default', file: null, settableIn: ['global'] })
  expect(find('childModel')).toMatchObject({ value: null, origin: 'default' })
  expect(ConfigView.parse(view)).toEqual(view)
})

test('the view says that there is a secret and never which', async () => {
  const { config } = open({
    [globalFile]:
      '{ "authGroups": { "a": { "anthropicApiKey": "plainsecret1" } }, "mcpServers": { "gh": { "command": "gh", "args": ["--token=plainsecret2", "-v"], "env": { "GH_TOKEN": "plainsecret3", "LANG": "C" } } } }',
  })
  const view = await config.view()
  const find = (key: string) => view.entries.find((entry) => entry.key === key)

  expect(find('authGroups.a.anthropicApiKey')).toMatchObject({ value: null, isSecret: true, origin: 'global' })
  expect(find('mcpServers.gh.env.GH_TOKEN')).toMatchObject({ value: null, isSecret: true })
  expect(find('mcpServers.gh.env.LANG')).toMatchObject({ value: 'C', isSecret: false })
  expect(find('mcpServers.gh.args')).toMatchObject({ value: ['(hidden)', '-v'] })
  expect(JSON.stringify(view)).not.toContain('plainsecret')
})

test('the view shows what the environment gives, without the keys', async () => {
  const view = await open({}, { OPENAI_API_KEY: 'plainsecret' }).config.view()

  expect(view.entries.filter(({ key }) => key.startsWith('authGroups'))).toMatchObject([
    { key: 'authGroups.openai.provider', value: 'openai', origin: 'environment' },
    { key: 'authGroups.openai.openaiApiKey', value: null, isSecret: true, origin: 'environment' },
  ])
})

function open(files: Record<string, string>, environment: Record<string, string> = {}) {
  const world: MemoryWorld = memoryWorld(files, environment)
  return { world, config: openConfig(world, { dataDirectory: '/data' }) }
}
