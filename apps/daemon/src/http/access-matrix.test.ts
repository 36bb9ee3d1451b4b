import { createDeviceKey } from '@matrix/client'
import { type Access, feedPath, type Operation, type Route, routes } from '@matrix/protocol/http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, type Browser, openBrowser, startTestDaemon, type TestDaemon } from '../daemon.testing.ts'
import { projectId, taskId } from '../scripted-orchestrator.testing.ts'

let daemon: TestDaemon
let browser: Browser
beforeAll(async () => {
  daemon = await startTestDaemon({ metrics: { contentType: 'text/plain', read: () => 'up 1' } })
  browser = await openBrowser(daemon, createDeviceKey())
})
afterAll(() => daemon.close())

type Case = { name: string; method: string; path: string; access: Access }

const ids: Record<string, string> = { projectId, taskId, deviceId: 'a'.repeat(64), layer: 'global' }
const cases: Case[] = [
  ...Object.entries(routes).map(([name, { method, path, access }]: [string, Route]) => ({
    name,
    method,
    path: path.replace(/:(\w+)/g, (_, param: string) => ids[param] ?? 'something'),
    access,
  })),
  { name: 'events', method: 'GET', path: feedPath, access: 'signed-in' },
  { name: 'metrics', method: 'GET', path: '/metrics', access: 'local' },
]
// Their limits would get in the way of the other cases, and they prove who asks by themselves.
const guarded = cases.filter(({ access }) => access !== 'open')

describe.each(guarded)('$method $path', ({ method, path, access }) => {
  const send = (headers: Record<string, string>) => {
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: '{}' }
    return ask(`${daemon.url}${path}`, { method, headers: { 'content-type': 'application/json', ...headers }, ...body })
  }
  const refusal = async (headers: Record<string, string>) => {
    const before = daemon.orchestrator.calls.length
    const { status, json } = await send(headers)
    expect(daemon.orchestrator.calls.length).toBe(before)
    return [status, json().code]
  }

  test('is refused to nobody, also with a wrong token', async () => {
    expect(await refusal({})).toEqual([401, 'AUTH_REQUIRED'])
    expect(await refusal({ authorization: `Bearer ${'x'.repeat(43)}` })).toEqual([401, 'AUTH_REQUIRED'])
  })

  test('is refused with the cookie alone, with another CSRF token, and with the CSRF token alone', async () => {
    const { cookie = '', 'x-matrix-csrf': csrf = '' } = browser.headers

    expect(await refusal({ cookie })).toEqual([401, 'AUTH_REQUIRED'])
    expect(await refusal({ cookie, 'x-matrix-csrf': 'x'.repeat(43) })).toEqual([401, 'AUTH_REQUIRED'])
    expect(await refusal({ 'x-matrix-csrf': csrf })).toEqual([401, 'AUTH_REQUIRED'])
  })

  test('is refused to other origins and other pages, whoever is signed in', async () => {
    const origins = ['https://evil.example', 'null', `${daemon.url}.evil.example`, 'http://localhost:5173', '']
    for (const origin of origins) expect(await refusal({ ...browser.headers, origin })).toEqual([403, 'ORIGIN_REFUSED'])
    for (const site of ['cross-site', 'same-site'])
      expect(await refusal({ ...browser.headers, 'sec-fetch-site': site })).toEqual([403, 'ORIGIN_REFUSED'])
    const token = { authorization: `Bearer ${daemon.token}`, origin: 'https://evil.example' }
    expect(await refusal(token)).toEqual([403, 'ORIGIN_REFUSED'])
  })

  test('is refused under another name', async () => {
    const hosts = ['evil.example', `evil.example:${daemon.port}`, `0.0.0.0:${daemon.port}`, `127.0.0.1:1`, '127.0.0.1']
    for (const host of hosts) expect(await refusal({ ...browser.headers, host })).toEqual([421, 'HOST_REFUSED'])
  })

  const doors = access === 'local' ? 'only the token' : 'the token and a device that is signed in'
  test(`is open to ${doors}`, async () => {
    if (path.endsWith('/sign-out')) return
    const withToken = await send({ authorization: `Bearer ${daemon.token}` })
    const withDevice = await send({ ...browser.headers, origin: daemon.url, 'sec-fetch-site': 'same-origin' })

    expect([401, 403, 421]).not.toContain(withToken.status)
    if (access === 'local') expect([withDevice.status, withDevice.json().code]).toEqual([403, 'AUTH_FAILED'])
    else expect([401, 403, 421]).not.toContain(withDevice.status)
  })
})

test('only what a browser needs before it is signed in is open', () => {
  const open: Operation[] = ['health', 'ready', 'enrolDevice', 'challenge', 'answerChallenge']

  expect(cases.filter(({ access }) => access === 'open').map(({ name }) => name)).toEqual(open)
})

test.each(cases.filter(({ access }) => access === 'open'))(
  '$method $path is open, but not under another name or to other pages',
  async ({ method, path }) => {
    const url = `${daemon.url}${path}`

    expect((await ask(url, { method })).status).not.toBe(401)
    expect((await ask(url, { method, headers: { host: 'evil.example' } })).status).toBe(421)
    expect((await ask(url, { method, headers: { origin: 'https://evil.example' } })).status).toBe(403)
  },
)

test('an address is asked for once: without Host or with two of them nothing is answered', async () => {
  const { connect } = await import('node:net')
  const speak = (lines: string[]) =>
    new Promise<string>((resolve) => {
      let text = ''
      const socket = connect(daemon.port, '127.0.0.1', () => socket.write(`${lines.join('\r\n')}\r\n\r\n`))
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('close', () => resolve(text.split('\r\n', 1)[0] ?? ''))
    })
  const host = `Host: 127.0.0.1:${daemon.port}`

  expect(await speak(['GET /health HTTP/1.1', 'Connection: close'])).toContain('400')
  expect(await speak(['GET /health HTTP/1.1', host, 'Host: evil.example', 'Connection: close'])).toContain('421')
  expect(await speak(['GET /health HTTP/1.1', host, 'Connection: close'])).toContain('200')
})

test('a further name is answered for when the settings have it, with its own origin only', async () => {
  const named = await startTestDaemon({ names: ['box.example', 'tunnel:9000'] })
  const status = async (headers: Record<string, string>) => (await ask(`${named.url}/health`, { headers })).status

  expect(await status({ host: `box.example:${named.port}` })).toBe(200)
  expect(await status({ host: 'tunnel:9000', origin: 'http://tunnel:9000' })).toBe(200)
  expect(await status({ host: 'tunnel:9000', origin: `http://box.example:${named.port}` })).toBe(403)
  expect(await status({ host: 'box.example' })).toBe(421)
  await named.close()
})

test.each(['::1', 'localhost'])(
  'a daemon on %s is reached at the address that it prints, and under no other name',
  async (host) => {
    const own = await startTestDaemon({ host })
    const printed = host.includes(':') ? `[${host}]` : host
    const status = async (headers: Record<string, string>) => (await ask(`${own.url}/health`, { headers })).status

    expect(own.url).toBe(`http://${printed}:${own.port}`)
    expect((await own.local.getStatus()).pid).toBe(process.pid)
    expect(await status({ origin: own.url })).toBe(200)
    // What comes through a tunnel is asked for like this.
    expect(await status({ host: `127.0.0.1:${own.port}` })).toBe(200)
    expect(await status({ host: `[::2]:${own.port}` })).toBe(421)
    expect(await status({ host: printed })).toBe(421)
    expect(await status({ origin: `http://127.0.0.1:${own.port}` })).toBe(403)
    await own.close()
  },
)

test('a WebSocket is not opened', async () => {
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'x',
    'sec-websocket-version': '13',
  }

  expect((await ask(`${daemon.url}${feedPath}`, { headers })).status).toBe(401)
})

test('every answer forbids being framed, sniffed, kept and shared', async () => {
  for (const path of ['/', '/health', '/api/projects', '/nowhere', '/api/docs']) {
    const { headers } = await ask(`${daemon.url}${path}`)
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  }
})
