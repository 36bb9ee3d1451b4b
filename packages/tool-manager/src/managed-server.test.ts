import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  bootHarness,
  lockOf,
  manifestOf,
  patience,
  scriptedServer,
  surface,
  textOf,
} from './scripted-server.testing.ts'

test('a server is started by the first call, shared by the next ones, and ended when parked', async () => {
  const { call, tools, running, events } = await bootHarness()
  expect(running()).toBe(0)
  await Promise.all([call('echo', { value: 1 }), call('echo', { value: 2 }), call('echo', { value: 3 })])
  expect(running()).toBe(1)
  await tools.park()

  expect(running()).toBe(0)
  expect(events.filter(({ type }) => type === 'server_started')).toHaveLength(1)
  expect(textOf(await call('echo', { value: 'again' }))).toBe('again')
})

test('a server that nobody calls is ended after a while', async () => {
  const { call, running } = await bootHarness({ poolOptions: { idleMs: 50 } })
  await call('echo', { value: 1 })

  await vi.waitFor(() => expect(running()).toBe(0), patience)
})

test('a server that is parked during a call ends when the call is over', async () => {
  const { call, tools, running } = await bootHarness()
  const abort = new AbortController()
  const heard = new Promise<void>((done) => {
    void call('silent', {}, { signal: abort.signal, onProgress: () => done() })
  })
  await heard
  await tools.park()
  expect(running()).toBe(1)
  abort.abort()

  await vi.waitFor(() => expect(running()).toBe(0), patience)
})

test('a server that is still starting when nobody needs it any more is given up, and its program is ended', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'matrix-server-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const pidFile = join(directory, 'pid')
  const { call, tools, running } = await bootHarness({ servers: [scriptedServer({ neverAnswers: true, pidFile })] })
  const pending = call('echo')
  await expect.poll(() => (existsSync(pidFile) ? readFileSync(pidFile, 'utf8') : ''), patience).toMatch(/^\d+$/)
  await tools.close()

  expect(await pending).toMatchObject({ isError: true })
  expect(running()).toBe(0)
  const pid = Number(readFileSync(pidFile, 'utf8'))
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), patience)
})

test('all pages of a list are read', async () => {
  const tools = Array.from({ length: 7 }, (_, index) => surface(`echo${index}`))
  const { tools: booted } = await bootHarness({ servers: [scriptedServer({ tools, pageSize: 2 })] })

  expect(await booted.connectAll()).toMatchObject([{ status: 'verified', tools }])
})

test.each([
  ['a tool that is missing', [surface('a')], [surface('a'), surface('b')], /does not advertise "b"/],
  [
    'a tool that was never declared',
    [surface('a'), surface('b')],
    [surface('a')],
    /advertises "b", which the manifest does not/,
  ],
  ['a tool that is listed twice', [surface('a'), surface('a')], [surface('a')], /"a" twice/],
  [
    'instructions in characters nobody sees',
    [surface('a', { description: 'Reads.\u{E0041}\u{E0042}' })],
    [surface('a')],
    /nobody sees: U\+E0041/,
  ],
])('%s is drift, and the server is not used', async (_, advertised, declared, words) => {
  const server = scriptedServer({ tools: advertised })
  const servers = [{ ...server, tools: declared.map(({ name }) => ({ name, side_effect_class: 'read' as const })) }]
  const { call, events } = await bootHarness({ servers })
  const answer = await call('a')

  expect(answer).toMatchObject({ isError: true, code: 'TOOL_DRIFT' })
  expect(answer.error?.message).toMatch(words)
  expect(textOf(answer)).not.toMatch(words)
  expect(events).toContainEqual(expect.objectContaining({ type: 'server_quarantined' }))
})

test('case 28: a definition that is nested without end is drift', async () => {
  let items: object = { type: 'string' }
  for (let depth = 0; depth < 2000; depth += 1) items = { items }
  const server = scriptedServer({ tools: [surface('echo', { inputSchema: { type: 'object', ...items } })] })
  const { call } = await bootHarness({ servers: [server] })

  expect(await call('echo')).toMatchObject({ code: 'TOOL_DRIFT' })
})

test('a list that goes on for ever is drift', async () => {
  const { call } = await bootHarness({ servers: [scriptedServer({ endless: true })] })

  expect(await call('echo')).toMatchObject({ code: 'TOOL_DRIFT' })
})

test('a tool that is added in flight quarantines the server, and its next call is refused', async () => {
  const { call, running } = await bootHarness()
  expect(textOf(await call('change'))).toBe('changed')

  expect(await call('echo', { value: 1 })).toMatchObject({ code: 'TOOL_DRIFT' })
  await vi.waitFor(() => expect(running()).toBe(0), patience)
  expect(await call('echo', { value: 1 })).toMatchObject({ code: 'TOOL_DRIFT' })
})

test('a list that only changes its order in flight is no drift', async () => {
  const tools = [surface('echo'), surface('change')]
  const { call } = await bootHarness({ servers: [scriptedServer({ tools, changed: [...tools].reverse() })] })
  await call('change')

  expect(textOf(await call('echo', { value: 'fine' }))).toBe('fine')
})

test('a list whose time is over is looked at again before the next call', async () => {
  const tools = [surface('echo')]
  const changed = [surface('echo', { description: 'Does something else' })]
  const manifest = manifestOf([scriptedServer({ tools, ttlMs: 1, changesAfterList: changed })])
  const { call } = await bootHarness({ manifest, lock: lockOf(manifest, { scripted: tools }) })
  expect(textOf(await call('echo', { value: 'fine' }))).toBe('fine')

  await vi.waitFor(async () => expect(await call('echo')).toMatchObject({ code: 'TOOL_DRIFT' }), patience)
})

test('a server that changes between two connections is refused at the second', async () => {
  const tools = [surface('echo'), surface('change')]
  const changed = [surface('echo', { description: 'Does something else' }), surface('change')]
  const manifest = manifestOf([scriptedServer({ tools })])
  const lock = lockOf(manifest, { scripted: changed })
  const { call } = await bootHarness({ manifest, lock })
  const answer = await call('echo')

  expect(answer).toMatchObject({ code: 'TOOL_DRIFT' })
  expect(answer.error?.message).toMatch(/no longer defines "echo" as it was locked/)
})

test.each([
  ['exits at once', { exitAtOnce: 1, stderr: 'no database\n' }, /It said: no database/],
  ['never answers', { neverAnswers: true }, /did not answer within 1500 ms/],
  ['never lists its tools', { neverLists: true }, /did not answer within 1500 ms/],
  ['writes 300 MB without a line break', { lineBytes: 300 << 20, neverAnswers: true }, /is not there/, 15_000],
])(
  'case 33: a server that %s is unavailable, and the others do not notice',
  async (_, script, words, limitMs = 1500) => {
    const before = process.memoryUsage().rss
    const { call, tools } = await bootHarness({
      servers: [scriptedServer(script, { alias: 'bad' }), scriptedServer({}, { alias: 'good' })],
      poolOptions: { connectTimeoutMs: limitMs },
    })
    const good = async () => expect(textOf(await call('mcp__good__echo', { value: 'quick' }))).toBe('quick')
    // On a busy machine a good one, too, may need more time to start than the limit of this test.
    await vi.waitFor(good, patience)
    const bad = call('mcp__bad__echo')
    await good()
    const answer = await bad

    expect(answer).toMatchObject({ isError: true, code: 'SERVER_UNAVAILABLE' })
    expect(answer.error?.message).toMatch(words)
    expect(process.memoryUsage().rss - before).toBeLessThan(150 << 20)
    await tools.close()
  },
)

test('a server that dies in the middle of a call fails that call, and the next one starts it again', async () => {
  const { call } = await bootHarness()

  expect(await call('die')).toMatchObject({ code: 'SERVER_UNAVAILABLE' })
  expect(textOf(await call('echo', { value: 'back' }))).toBe('back')
})

test('case 33: noise between the messages is passed over', async () => {
  const { call } = await bootHarness({ servers: [scriptedServer({ noise: true })] })

  expect(textOf(await call('echo', { value: 'heard' }))).toBe('heard')
})

test('case 33: what is no JSON is no answer; great numbers and bytes that are no text do no harm', async () => {
  const { call } = await bootHarness({ servers: [scriptedServer({ tools: [surface('raw'), surface('echo')] })] })
  const raw = (text: string, options = {}) => {
    const line = Buffer.from(`{"jsonrpc":"2.0","id":ID,"result":${text}}\n`, 'latin1').toString('base64')
    return call('raw', { line }, options)
  }
  const words = (text: string) => `{"content":[{"type":"text","text":"${text}"}]`

  expect(await raw(`${words('x')},"score":NaN}`, { timeoutMs: 300 })).toMatchObject({ code: 'TOOL_TIMEOUT' })
  expect(await raw(`${words('x')},"structuredContent":{"n":1e999}}`)).toMatchObject({ isError: false })
  expect(await raw(`${words('x')},"structuredContent":{"n":${'9'.repeat(5000)}}}`)).toMatchObject({ isError: false })
  expect(textOf(await raw(`${words('a\xff\xfeb')}}`))).toBe('a\uFFFD\uFFFDb')
  expect(await raw('7', { timeoutMs: 300 })).toMatchObject({ code: 'TOOL_TIMEOUT' })
  expect(textOf(await call('echo', { value: 'still here' }))).toBe('still here')
})

test('a program that does not exist is unavailable, by name', async () => {
  const { call } = await bootHarness({ servers: [scriptedServer({}, { command: 'no-such-program', args: [] })] })
  const answer = await call('echo')

  expect(answer).toMatchObject({ code: 'SERVER_UNAVAILABLE' })
  expect(answer.error?.message).toContain('no-such-program, which is not installed')
})

test('case 32: forged and repeated answers are dropped and reported', async () => {
  const { call, events } = await bootHarness({
    servers: [scriptedServer({ tools: [surface('forge'), surface('echo')] })],
  })

  expect(textOf(await call('forge'))).toBe('true')
  expect(textOf(await call('echo', { value: 'mine' }))).toBe('mine')
  expect(events.filter(({ type }) => type === 'protocol_violated').length).toBeGreaterThanOrEqual(4)
})

test('case 32: a server that forges without end loses its connection', async () => {
  const servers = [scriptedServer({ tools: [surface('forge')], forged: 100 })]
  const { call } = await bootHarness({ servers })

  expect(await call('forge')).toMatchObject({ code: 'SERVER_UNAVAILABLE' })
})

test('case 32: what a server asks of its own accord is declined', async () => {
  const { call, events } = await bootHarness({ servers: [scriptedServer({ tools: [surface('ask')] })] })

  expect(textOf(await call('ask'))).toBe('asked')
  expect(events).toContainEqual({
    type: 'protocol_violated',
    alias: 'scripted',
    what: 'asked for sampling/createMessage',
  })
})
