import { existsSync, statSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type EgressDecision, type EgressProxy, openEgress } from './egress-proxy.ts'
import { findHostRule, isListed, isPublic, parseHostRule } from './egress-rule.ts'

let upstream: Server
let port: number
let proxy: EgressProxy
let decisions: EgressDecision[]
const names: Record<string, string[]> = {}

beforeEach(async () => {
  decisions = []
  upstream = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => {}).end('hello from upstream'))
  await new Promise<void>((done) => upstream.listen(0, '127.0.0.1', done))
  port = (upstream.address() as AddressInfo).port
  proxy = await openEgress({
    hosts: ['api.example.com', `local.example.com:${port}`, `127.0.0.1:${port}`, `inner.example.com:${port}`],
    onDecision: (decision) => decisions.push(decision),
    resolve: async (host) => names[host] ?? [],
  })
  Object.assign(names, {
    'api.example.com': ['127.0.0.1'],
    'local.example.com': ['10.1.2.3', '127.0.0.1'],
    'inner.example.com': ['169.254.169.254'],
  })
})

afterEach(async () => {
  await proxy.close()
  upstream.close()
})

test('a listed destination is reached, and the decision is told', async () => {
  const answer = await ask(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n`)

  expect(answer).toBe('HTTP/1.1 200 Connection Established\r\n\r\nhello from upstream')
  expect(decisions).toEqual([
    {
      asked: `CONNECT 127.0.0.1:${port} HTTP/1.1`,
      allowed: true,
      reason: 'The destination is in the list.',
      reached: `127.0.0.1:${port}`,
    },
  ])
})

test('all that the host says arrives, also after the client has said its last word', async () => {
  const size = 20_000_000
  upstream.removeAllListeners('connection').on('connection', (socket) => {
    socket.on('error', () => {}).on('end', () => socket.end(Buffer.alloc(size, 'x')))
    socket.resume()
  })
  const socket = connect({ path: proxy.socket, allowHalfOpen: true })
  socket.end(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`)
  let received = 0
  for await (const chunk of socket) {
    received += chunk.length
    if (received < 1_000_000) await sleep(5)
  }

  expect(received).toBe(size + 'HTTP/1.1 200 Connection Established\r\n\r\n'.length)
})

test.each([150_000, 200_000, 250_000, 300_000])(
  'the last of %d bytes arrives although their host is gone before anybody reads them',
  async (size) => {
    upstream.removeAllListeners('connection').on('connection', (socket) => {
      socket.on('error', () => {}).end(Buffer.alloc(size, 'x'))
      socket.resume()
    })
    const socket = connect({ path: proxy.socket, allowHalfOpen: true }).pause()
    socket.end(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`)
    await sleep(150)
    const received = Buffer.concat(await socket.toArray())

    expect(received.length).toBe(size + 'HTTP/1.1 200 Connection Established\r\n\r\n'.length)
  },
)

test('a name that leads to an inner address is reached only where that address is listed too', async () => {
  expect(await ask(`CONNECT local.example.com:${port} HTTP/1.1\r\n\r\n`)).toContain('hello from upstream')
})

test.each([
  ['another host', () => 'other.example.com:443', 403],
  ['another port', () => 'api.example.com:22', 403],
  ['a name that leads to the loopback', () => 'api.example.com:443', 403],
  ['a name that leads to the metadata of a cloud', () => `inner.example.com:${port}`, 403],
  ['a trailing dot', () => 'api.example.com.:443', 400],
  ['upper case', () => 'API.example.com:443', 400],
  ['a user before the host', () => 'user@api.example.com:443', 400],
  ['an allowed name in front of another', () => 'api.example.com:443@evil.example:443', 400],
  ['NUL', () => 'api.example.com\0.evil.example:443', 400],
  ['a percent sign', () => 'api.example.com%2eevil.example:443', 400],
  ['a space', () => 'api.example.com .evil.example:443', 400],
  ['an address in decimal', () => `2130706433:${port}`, 400],
  ['an address in hex', () => `0x7f000001:${port}`, 400],
  ['an address in octal', () => `0177.0.0.1:${port}`, 400],
  ['a short address', () => `127.1:${port}`, 400],
  ['an IPv4 address dressed as IPv6', () => `[::ffff:127.0.0.1]:${port}`, 403],
  ['an IPv6 loopback', () => `[::1]:${port}`, 403],
  ['a zone', () => `[fe80::1%lo]:${port}`, 400],
  ['no port', () => 'api.example.com', 400],
  ['port 0', () => 'api.example.com:0', 400],
  ['a port beyond all ports', () => 'api.example.com:65979', 400],
  ['a port with a sign', () => 'api.example.com:+443', 400],
  ['a look-alike letter', () => 'аpi.example.com:443', 400],
])('case 17: %s is refused and told', async (_, target, status) => {
  const answer = await ask(`CONNECT ${target()} HTTP/1.1\r\n\r\n`)

  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(decisions).toHaveLength(1)
  expect(decisions[0]).toMatchObject({ allowed: false })
})

test('case 17: only a tunnel or an http address is served, and only in the form of HTTP/1', async () => {
  expect(await ask(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)).toMatch(/^HTTP\/1.1 405 /)
  expect(await ask(`GET ftp://127.0.0.1:${port}/ HTTP/1.1\r\n\r\n`)).toMatch(/^HTTP\/1.1 405 /)
  expect(await ask(`CONNECT 127.0.0.1:${port} HTTP/2\r\n\r\n`)).toMatch(/^HTTP\/1.1 400 /)
  expect(await ask(`CONNECT 127.0.0.1:${port}\r\n\r\n`)).toMatch(/^HTTP\/1.1 400 /)
})

test('a plain request reaches a listed host as one request of its own, without what was meant for the proxy', async () => {
  let heard = ''
  upstream.removeAllListeners('connection').on('connection', (socket) => {
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        heard += chunk
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
  })
  const head = ['Host: evil.example', 'Proxy-Authorization: Basic eDp5', 'Accept: */*', 'Connection: keep-alive']
  const answer = await ask(`GET http://127.0.0.1:${port}/a?b=c HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`)

  expect(answer).toMatch(/ok$/)
  expect(heard).toBe(`GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: */*\r\nConnection: close\r\n\r\n`)
})

test.each([
  ['another host', () => 'http://other.example.com/', 403],
  ['a name that leads to the loopback', () => 'http://api.example.com/', 403],
  ['a user before the host', () => `http://user@127.0.0.1:${port}/`, 400],
  ['an address in decimal', () => `http://2130706433:${port}/`, 400],
  ['a backslash before another host', () => `http://127.0.0.1:${port}\\@evil.example/`, 400],
  ['an IPv4 address dressed as IPv6', () => `http://[::ffff:127.0.0.1]:${port}/`, 403],
])('case 17: a plain request for %s is refused', async (_, url, status) => {
  expect(await ask(`GET ${url()} HTTP/1.1\r\n\r\n`)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(decisions).toMatchObject([{ allowed: false }])
})

test('a header over several lines is refused', async () => {
  const head = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nX: a\r\n Host: evil.example\r\n\r\n`
  expect(await ask(head)).toMatch(/^HTTP\/1.1 400 /)
})

test('a list that changes counts for the next connection, and one that cannot be read allows nothing', async () => {
  await proxy.close()
  let hosts: string[] | undefined = []
  const current = async () => {
    if (!hosts) throw new Error('unreadable')
    return hosts
  }
  proxy = await openEgress({ hosts: current, onDecision: (decision) => decisions.push(decision) })
  const line = `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`

  expect(await ask(line)).toMatch(/^HTTP\/1.1 403 /)
  expect(decisions).toMatchObject([{ missing: `127.0.0.1:${port}` }])
  hosts = [`127.0.0.1:${port}`]
  expect(await ask(line)).toMatch(/^HTTP\/1.1 200 /)
  hosts = undefined
  expect(await ask(line)).toMatch(/^HTTP\/1.1 403 /)
})

test('every public host on 80 and 443 is listed by *, and no inner one', async () => {
  await proxy.close()
  proxy = await openEgress({ hosts: ['*'], resolve: async (host) => names[host] ?? [] })
  const status = async (target: string) => (await ask(`CONNECT ${target} HTTP/1.1\r\n\r\n`)).slice(9, 12)

  // It is listed, and has no address here.
  expect(await status('public.example.com:443')).toBe('502')
  const inner = [
    'api.example.com:443',
    'inner.example.com:80',
    '127.0.0.1:80',
    '[::ffff:127.0.0.1]:443',
    '10.0.0.1:443',
  ]
  for (const target of [...inner, 'localhost:80', 'router.lan:80', 'public.example.com:22'])
    expect([target, await status(target)]).toEqual([target, '403'])
})

test('case 28: a request without end, with ten thousand headers or of a gigabyte is cut off', async () => {
  const before = process.memoryUsage().rss
  const headers = Array.from({ length: 10_000 }, (_, index) => `X-${index}: y\r\n`).join('')
  expect(await ask(`CONNECT ${'a'.repeat(20_000)}`)).toBe('')
  expect(await ask(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n${headers}\r\n`)).toBe('')
  expect(await flood(1 << 30)).toBeLessThan(64 << 20)

  expect(process.memoryUsage().rss - before).toBeLessThan(100 << 20)
  expect(await ask(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`)).toContain('hello from upstream')
})

test('case 28: a request that comes a letter at a time is given up, and others do not wait for it', async () => {
  await proxy.close()
  proxy = await openEgress({ hosts: [`127.0.0.1:${port}`], headTimeoutMs: 3000 })
  const slow = connect(proxy.socket).on('error', () => {})
  const drip = setInterval(() => slow.write('C'), 20)
  const ended = new Promise((done) => slow.resume().on('close', done))
  expect(await ask(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`)).toContain('hello from upstream')
  await ended
  clearInterval(drip)
})

test('case 28: two lengths of one request change nothing, since a request has no body', async () => {
  const head = `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 50\r\n\r\n`

  expect(await ask(head)).toBe('HTTP/1.1 200 Connection Established\r\n\r\nhello from upstream')
})

test('the socket is open to its owner alone and goes with the proxy', async () => {
  expect(statSync(proxy.socket).mode & 0o777).toBe(0o600)
  await proxy.close()
  expect(existsSync(proxy.socket)).toBe(false)
  proxy = await openEgress({ hosts: [] })
})

test('a host is written plainly, with 80 and 443 where no port is given', () => {
  expect(parseHostRule('api.example.com')).toEqual({ kind: 'name', host: 'api.example.com', ports: [80, 443] })
  expect(parseHostRule('*.example.com:8443')).toEqual({ kind: 'below', host: 'example.com', ports: [8443] })
  expect(parseHostRule('[2001:db8::1]:8443')).toEqual({ kind: 'name', host: '2001:db8::1', ports: [8443] })
  const wrong = ['https://example.com', 'Example.com', '', 'a b', '127.1', 'example.com:99999', '*.com', '*.10.0.0.1']
  for (const text of [...wrong, 'a.*.com', '*example.com', '**', '*:443', 'example.com:', '*.'])
    expect(() => parseHostRule(text)).toThrow(expect.objectContaining({ code: 'SANDBOX_REFUSED' }))
})

test('a wildcard means what lies below a name, never the name itself or one that ends like it', () => {
  const rules = [parseHostRule('*.example.com')]
  const asked = (host: string, port = 443) => isListed(rules, { host, port })

  expect([asked('a.example.com'), asked('a.b.example.com'), asked('a.example.com', 80)]).toEqual([true, true, true])
  expect([asked('example.com'), asked('evilexample.com'), asked('a.example.com', 22)]).toEqual([false, false, false])
})

test('any text is a rule or none, and never one that lists more than it says', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 40 }), fc.webUrl(), (text, url) => {
      const rule = findHostRule(text) ?? findHostRule(new URL(url).hostname)
      if (!rule || rule.kind === 'any') return
      expect(isListed([rule], { host: 'never.listed.example', port: 443 })).toBe(false)
      expect(isListed([rule], { host: rule.host, port: 22 })).toBe(rule.kind === 'name' && rule.ports.includes(22))
    }),
  )
})

test('an address of this machine, of the network around it or of a cloud’s metadata is not public', () => {
  const inner = ['127.0.0.1', '10.0.0.1', '172.31.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0']
  const inner6 = [
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:10.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::a00:1',
    '2002:7f00:1::',
  ]
  for (const address of [...inner, ...inner6, 'nonsense'])
    expect([address, isPublic(address)]).toEqual([address, false])
  for (const address of ['1.1.1.1', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])
    expect([address, isPublic(address)]).toEqual([address, true])
})

/** Says something to the proxy and hands back all that it answers. */
function ask(text: string): Promise<string> {
  return new Promise((done) => {
    const socket = connect(proxy.socket)
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => done(answer))
    socket.write(Buffer.from(text))
  })
}

/** How many of so many bytes without a line break the proxy takes before it hangs up. */
function flood(bytes: number): Promise<number> {
  return new Promise((done) => {
    const socket = connect(proxy.socket).on('error', () => {})
    const block = Buffer.alloc(1 << 20, 'x')
    const more = () => {
      if (socket.destroyed || socket.bytesWritten >= bytes) socket.destroy()
      else socket.write(block, more)
    }
    socket.resume().on('close', () => done(socket.bytesWritten))
    more()
  })
}
