import { expect, test } from 'vitest'
import { resolveCredentials } from './credential.ts'
import { openRedactor } from './redactor.ts'
import { bootHarness, lockOf, manifestOf, scriptedServer, surface, textOf } from './scripted-server.testing.ts'

const secret = 'sk-canary/0123456789+abc'

test('a server gets its own variables and nothing else of the environment', async () => {
  process.env.DAEMON_CANARY = 'of the daemon'
  const { call } = await bootHarness({
    servers: [scriptedServer({}, { env: ['API_KEY=$env:TEST_KEY', 'MODE=fast'] })],
    ...given,
  })
  const answer = textOf(await call('env'))

  expect(answer).toContain('"MODE":"fast"')
  expect(answer).not.toContain('of the daemon')
})

test('a value never reaches a result in a spelling that is promised', async () => {
  const spellings = [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret), JSON.stringify(secret)]
  const result = { content: [{ type: 'text', text: spellings.join(' ') }], structuredContent: { key: secret } }
  const server = scriptedServer(
    { tools: [surface('parts'), surface('env')], result },
    { env: ['API_KEY=$env:TEST_KEY'] },
  )
  const { call } = await bootHarness({ servers: [server], ...given })
  const [parts, env] = [await call('parts'), await call('env')]

  for (const spelling of spellings.slice(0, 3)) expect(JSON.stringify([parts, env])).not.toContain(spelling)
  expect(textOf(env)).toContain('[redacted TEST_KEY]')
  expect(parts.structured).toEqual({ key: '[redacted TEST_KEY]' })
})

test('a value never reaches an error or an event', async () => {
  const server = scriptedServer(
    { exitAtOnce: 1, stderr: `cannot log in with ${secret}` },
    { env: ['API_KEY=$env:TEST_KEY'] },
  )
  const { call, events } = await bootHarness({ servers: [server], ...given })
  const answer = await call('echo')

  expect(answer.error?.message).toContain('[redacted TEST_KEY]')
  expect(JSON.stringify([answer, events, answer.error?.message, answer.error?.stack])).not.toContain(secret)
})

test('a value that a server writes into its own definitions reaches nobody who is told that they changed', async () => {
  const tools = [surface('echo')]
  const server = scriptedServer({ tools, tellsEnv: 'API_KEY' }, { env: ['API_KEY=$env:TEST_KEY'] })
  const manifest = manifestOf([server])
  const { call, events } = await bootHarness({ manifest, lock: lockOf(manifest, { scripted: tools }), ...given })
  const answer = await call('echo')
  const told = events.map((event) => ('found' in event ? { ...event, found: undefined } : event))

  expect(answer.error?.message).toContain('[redacted TEST_KEY]')
  expect(JSON.stringify([answer, told, answer.error?.message, answer.error?.stack])).not.toContain(secret)
})

test('a missing variable is named, and nothing is started', async () => {
  const server = scriptedServer({}, { env: ['A=$env:NOT_SET_ONE', 'B=Bearer $env:NOT_SET_TWO'] })
  const { call, events } = await bootHarness({ servers: [server], ...given })
  const answer = await call('echo')

  expect(answer).toMatchObject({ code: 'SERVER_UNAVAILABLE', error: { code: 'CREDENTIAL_MISSING' } })
  expect(answer.error?.message).toContain('NOT_SET_ONE, NOT_SET_TWO are not set')
  expect(events.map(({ type }) => type)).not.toContain('server_started')
})

test('a value with a line break is named, not printed, and nothing is sent', () => {
  const server = {
    alias: 'docs',
    transport: 'http' as const,
    endpoint: 'https://docs.example.com/mcp',
    headers: { Authorization: 'Bearer $env:TEST_KEY' },
    version: '1.0.0',
    tools: [],
  }
  const value = 'first-half-of-it\nsecond-half-of-it'
  const resolve = (text: string) => () => resolveCredentials(server, () => text, openRedactor())

  expect(resolve(value)).toThrow('"docs" was not started: its Authorization, from TEST_KEY, holds a line break')
  expect(resolve(value)).not.toThrow(/half-of-it/)
  expect(resolve('a-token-from-a-file\n')().assignments).toEqual({ Authorization: 'Bearer a-token-from-a-file\n' })
})

test('the longer of two secrets goes first', () => {
  const redactor = openRedactor()
  redactor.add('SHORT', 'abcd')
  redactor.add('LONG', 'abcdefgh')

  expect(redactor.text('x abcdefgh y abcd')).toBe('x [redacted LONG] y [redacted SHORT]')
})

const given = { poolOptions: { lookUp: (name: string) => (name === 'TEST_KEY' ? secret : undefined) } }
