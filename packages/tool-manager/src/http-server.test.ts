import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createRawServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type HttpServer, serverSurfaceDigest, type ToolSurface } from '@matrix/manifest'
import { expect, onTestFinished, test } from 'vitest'
import { bootHarness, surface, textOf } from './scripted-server.testing.ts'

const secret = 'canary-token-0123456789'
const given = {
  poolOptions: { lookUp: (name: string) => (name === 'TOKEN' ? secret : undefined) },
}

test('credentials go into the headers, and nowhere else', async () => {
  const seen: (string | undefined)[] = []
  const server = await remote({ onRequest: ({ headers }) => seen.push(headers.authorization) })
  const { call, events } = await bootHarness({ servers: [server], ...given })
  const answer = await call('echo', { value: secret })

  expect(new Set(seen)).toEqual(new Set([`Bearer ${secret}`]))
  expect(JSON.stringify([answer, events])).not.toContain(secret)
  expect(textOf(answer)).toContain('[redacted TOKEN]')
})

test('refused credentials are said to be refused', async () => {
  const { call } = await bootHarness({ servers: [await remote({ status: 401 })], ...given })
  const answer = await call('echo')

  expect(answer).toMatchObject({ code: 'SERVER_UNAVAILABLE' })
  expect(answer.error?.message).toContain('refuses the credentials')
})

test('credentials do not follow a redirect to somebody else', async () => {
  let leaked: string | undefined
  const elsewhere = await remote({
    onRequest: ({ headers }) => {
      leaked = headers.authorization
    },
  })
  const { call } = await bootHarness({
    servers: [await remote({ status: 307, location: elsewhere.endpoint })],
    ...given,
  })

  expect(await call('echo')).toMatchObject({ code: 'SERVER_UNAVAILABLE' })
  expect(leaked).toBeUndefined()
})

test('case 28: an answer of a gigabyte takes no more than its share of memory', async () => {
  const before = process.memoryUsage().rss
  const { call } = await bootHarness({ servers: [await remote({ bytes: 1 << 30 })], ...given })

  expect(await call('echo')).toMatchObject({ isError: true })
  expect(process.memoryUsage().rss - before).toBeLessThan(150 << 20)
})

const ok = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'

test.each([
  ['with ten thousand headers', `${ok}${'X-Y: z\r\n'.repeat(10_000)}Content-Length: 2\r\n\r\n{}`],
  ['with two lengths', `${ok}Content-Length: 2\r\nContent-Length: 20\r\n\r\n{}`],
  ['nested a hundred thousand deep', `${ok}Content-Length: 100000\r\n\r\n${'['.repeat(100_000)}`],
  ['that breaks off', `${ok}Content-Length: 1000\r\n\r\n{"jsonrpc":`],
  ['that is no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['that never comes', ''],
  ['a letter at a time', `${ok}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'],
])('case 28: an answer %s is an error within the time limit', async (_, start, drip = '') => {
  const poolOptions = { ...given.poolOptions, connectTimeoutMs: 1500 }
  const { call } = await bootHarness({ servers: [await rawRemote(start, drip)], poolOptions })

  expect(await call('echo')).toMatchObject({ isError: true, code: 'SERVER_UNAVAILABLE' })
})

test.each(['headers', 'body'])(
  'a tool is waited for as long as its own limit says, however long its %s take',
  async (part) => {
    const server = await remote({ silent: { part, ms: 4000 } })
    const { call } = await bootHarness({ servers: [server], ...given })
    impatientFetch()

    expect(await call('echo', { value: 'late' })).toMatchObject({ isError: false })
  },
)

test('a remote server has no package; the digest of its list stands in for one', async () => {
  const tools = [surface('echo')]
  const pinned = await remote({ tools, server: { package_digest: serverSurfaceDigest(tools) } })
  const drifted = await remote({
    tools,
    server: { package_digest: serverSurfaceDigest([surface('echo', { title: 'x' })]) },
  })

  expect(await (await bootHarness({ servers: [pinned], ...given })).call('echo', {})).toMatchObject({ isError: false })
  expect(await (await bootHarness({ servers: [drifted], ...given })).call('echo', {})).toMatchObject({
    code: 'TOOL_DRIFT',
  })
})

test('nobody at the address is unavailable', async () => {
  const server = { ...(await remote({})), endpoint: 'http://127.0.0.1:1/mcp' }
  const { call } = await bootHarness({ servers: [server], ...given })

  expect(await call('echo')).toMatchObject({ code: 'SERVER_UNAVAILABLE' })
})

type Remote = {
  tools?: ToolSurface[]
  status?: number
  location?: string
  /** Answers every list with this many bytes. */
  bytes?: number
  /** Calls are answered so late, in this part. */
  silent?: { part: string; ms: number }
  onRequest?(request: IncomingMessage): void
  server?: Partial<HttpServer>
}

/** A streamable HTTP server of the older protocol, as badly behaved as it is told to be. */
async function remote({
  tools = [surface('echo')],
  status,
  location,
  bytes,
  silent,
  onRequest,
  server,
}: Remote): Promise<HttpServer> {
  const http = createServer(async (request, response) => {
    onRequest?.(request)
    if (status) return void response.writeHead(status, location ? { location } : {}).end()
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    if (id === undefined) return void response.writeHead(202).end()
    if (bytes && method === 'tools/list') return flood(response, bytes)
    const result = answers(tools)[method]?.(params)
    const body = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
    response.setHeader('content-type', 'application/json')
    if (silent && method === 'tools/call') {
      if (silent.part === 'body') response.flushHeaders()
      await sleep(silent.ms)
    }
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
  })
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  return {
    alias: 'remote',
    transport: 'http',
    endpoint: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    headers: { Authorization: 'Bearer $env:TOKEN' },
    version: '1.0.0',
    tools: tools.map(({ name }) => ({ name, side_effect_class: 'read' })),
    ...server,
  }
}

type Client = { constructor: new (options: object) => Client; destroy(): Promise<void> }

/** The five minutes after which fetch gives up by itself, shortened. */
function impatientFetch(): void {
  const name = Symbol.for('undici.globalDispatcher.1')
  const keeper = globalThis as unknown as Record<symbol, Client>
  const before = keeper[name]
  if (!before) throw new Error('fetch has another client than before')
  const impatient = new before.constructor({ headersTimeout: 500, bodyTimeout: 500 })
  keeper[name] = impatient
  onTestFinished(async () => {
    keeper[name] = before
    await impatient.destroy()
  })
}

/** Answers every request with these bytes, then with more of them for as long as anybody listens. */
async function rawRemote(start: string, drip: string): Promise<HttpServer> {
  const raw = createRawServer((socket) => {
    const clock = drip ? setInterval(() => socket.write(drip), 50) : undefined
    socket.on('error', () => {}).on('close', () => clearInterval(clock))
    socket.once('data', () => start && (drip ? socket.write(start) : socket.end(start)))
  })
  await new Promise<void>((done) => raw.listen(0, '127.0.0.1', done))
  onTestFinished(() => void raw.close())
  return { ...(await remote({})), endpoint: `http://127.0.0.1:${(raw.address() as AddressInfo).port}/mcp` }
}

type Answer = (params: { protocolVersion?: string; arguments?: object }) => object

function answers(tools: ToolSurface[]): Record<string, Answer> {
  return {
    initialize: () => ({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'remote', version: '1.0.0' },
    }),
    'tools/list': () => ({ tools }),
    'tools/call': ({ arguments: input }) => ({ content: [{ type: 'text', text: JSON.stringify(input) }] }),
  }
}

function flood(response: ServerResponse, bytes: number): void {
  const block = Buffer.alloc(1 << 20, 'x')
  response.setHeader('content-type', 'application/json').on('error', () => {})
  const more = (left: number): unknown =>
    left > 0 && !response.destroyed ? response.write(block, () => more(left - block.length)) : response.end()
  more(bytes)
}
