import { createServer, type Server as HttpServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer as createPlainServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type EgressProxy, openEgress } from './sandbox/egress-proxy.ts'
import { findUpstream, parseProxy } from './sandbox/upstream-proxy.ts'
import { useUpstream } from './upstream-fetch.ts'

const canary = 'canary-password'
let target: Server
let proxy: HttpServer
let seen: { line: string; authorization: string | undefined }[]
let wanted: string | undefined
const cleanups: (() => unknown)[] = []

/** A proxy as companies have them: it knows the names, and asks for a password where one is wanted. */
beforeEach(async () => {
  seen = []
  wanted = undefined
  target = createPlainServer((socket) =>
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        const [line = ''] = String(chunk).split('\r\n')
        socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${line.length}\r\n\r\n${line}`)
      }),
  )
  proxy = createServer((request, reply) => {
    note(request)
    const forwarded = connect(portOf(target), '127.0.0.1', () =>
      forwarded.write(`${request.method} ${request.url} HTTP/1.1\r\n\r\n`),
    )
    forwarded.pipe(reply.socket as Socket)
  })
  proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
    note(request)
    if (wanted && request.headers['proxy-authorization'] !== wanted)
      return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const forwarded = connect(portOf(target), '127.0.0.1')
    socket
      .on('error', () => forwarded.destroy())
      .pipe(forwarded)
      .pipe(socket)
  })
  for (const server of [target, proxy]) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
  target.close()
  proxy.closeAllConnections()
  proxy.close()
})

test.each([
  ['without a password', ''],
  ['with one', `user:${canary}@`],
])('fetch goes through the proxy of the environment, %s', async (_, user) => {
  wanted = user ? `Basic ${Buffer.from(`user:${canary}`).toString('base64')}` : undefined
  cleanups.push(useUpstream({ HTTP_PROXY: `http://${user}127.0.0.1:${portOf(proxy)}` }))

  expect(await (await fetch('http://models.example.com/v1')).text()).toBe('GET /v1 HTTP/1.1')
  expect(seen).toEqual([{ line: 'CONNECT models.example.com:80', authorization: wanted }])
})

test('what NO_PROXY names, and the loopback, is reached directly', async () => {
  const env = { HTTP_PROXY: `http://127.0.0.1:${portOf(proxy)}`, NO_PROXY: 'other.example, .corp.example:8080' }
  cleanups.push(useUpstream(env))
  await fetch(`http://127.0.0.1:${portOf(target)}/`)

  expect(seen).toEqual([])
  const isDirect = (host: string, port = 80) => findUpstream({ host, port }, false, env) === undefined
  expect(
    ['other.example', 'a.other.example', 'localhost', '127.0.0.2', '::1'].map((host) => isDirect(host)),
  ).not.toContain(false)
  expect([isDirect('a.corp.example', 8080), isDirect('a.corp.example'), isDirect('another.example')]).toEqual([
    true,
    false,
    false,
  ])
})

test('a proxy that is down or refuses is named, without its password', async () => {
  cleanups.push(
    useUpstream({
      HTTPS_PROXY: `http://user:${canary}@127.0.0.1:1`,
      HTTP_PROXY: `http://user:${canary}@127.0.0.1:${portOf(proxy)}`,
    }),
  )
  wanted = 'another'
  const errors = await Promise.all(
    ['https://models.example.com/', 'http://models.example.com/'].map((url) =>
      fetch(url).catch((error) => error.cause),
    ),
  )

  expect(errors).toMatchObject([
    { code: 'PROXY_UNAVAILABLE', message: 'The proxy 127.0.0.1:1 did not open a connection: ECONNREFUSED.' },
    { code: 'PROXY_UNAVAILABLE', message: expect.stringContaining('407 Proxy Authentication Required') },
  ])
  expect(errors.map(({ message, stack, cause }) => `${message}${stack}${cause.stack}`).join()).not.toContain(canary)
})

test('what a sandbox asks for goes through the proxy too, tunnels and plain requests alike', async () => {
  wanted = `Basic ${Buffer.from(`user:${canary}`).toString('base64')}`
  const egress = await openThrough(`http://user:${canary}@127.0.0.1:${portOf(proxy)}`, ['api.example.com'])

  expect(await ask(egress, 'CONNECT api.example.com:80 HTTP/1.1\r\n\r\nGET /tunnel HTTP/1.1\r\n\r\n')).toMatch(
    /200 Connection Established.*GET \/tunnel/s,
  )
  expect(await ask(egress, 'GET http://api.example.com/plain HTTP/1.1\r\n\r\n')).toContain(
    'GET http://api.example.com/plain',
  )
  expect(await ask(egress, 'CONNECT other.example.com:80 HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1.1 403 /)
  expect(seen).toEqual([
    { line: 'CONNECT api.example.com:80', authorization: wanted },
    { line: 'GET http://api.example.com/plain', authorization: wanted },
  ])
})

test('an inner address is not reached through the proxy either, and a proxy that is down is named in the box', async () => {
  const egress = await openThrough(`http://user:${canary}@127.0.0.1:1`, ['*'])

  expect(await ask(egress, 'CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1.1 403 /)
  const answer = await ask(egress, 'CONNECT api.example.com:443 HTTP/1.1\r\n\r\n')
  expect(answer).toMatch(
    /^HTTP\/1.1 502 .*The proxy of this machine, 127.0.0.1:1, did not open the connection: ECONNREFUSED/s,
  )
  expect(answer).not.toContain(canary)
})

test.each(['', 'socks5://proxy.example', 'http://', ':::'])('%s is no proxy', (text) => {
  expect(parseProxy(text)).toBeUndefined()
})

async function openThrough(url: string, hosts: string[]): Promise<EgressProxy> {
  const egress = await openEgress({ hosts, upstream: () => parseProxy(url), resolve: async () => [] })
  cleanups.push(egress.close)
  return egress
}

function ask({ socket }: EgressProxy, text: string): Promise<string> {
  return new Promise((done) => {
    let answer = ''
    const client = connect(socket)
      .on('error', () => {})
      .on('data', (chunk) => {
        answer += chunk
      })
    client.on('close', () => done(answer))
    client.write(text)
  })
}

function note({ method, url, headers }: IncomingMessage): void {
  seen.push({ line: `${method} ${url}`, authorization: headers['proxy-authorization'] })
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}
