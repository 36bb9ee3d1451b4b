import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer as createPlainServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { spawnBoxed } from './box.ts'
import { EGRESS_PORT } from './egress-bridge.ts'
import { type EgressProxy, openEgress } from './egress-proxy.ts'
import { giveTree, resolveIdentity } from './identity.ts'
import { openSandbox } from './sandbox.ts'
import { BUBBLEWRAP, checkSandbox } from './self-test.ts'

const identity = resolveIdentity()
const status = await checkSandbox({ identity })
const boxedTest = test.runIf(status.available && existsSync('/usr/bin/openssl'))
if (!status.available)
  process.stderr.write(`NOT TESTED: nothing can be boxed here. ${status.reason} To test it: ${status.fix}\n`)

let folder: string
let servers: Server[]
let proxy: EgressProxy
let ports: { plain: number; secure: number; bulk: number }
let payload = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-bridge-'))
  chmodSync(folder, 0o755)
  const [key, cert] = makeCertificate()
  const plain = createServer((request, reply) => reply.end(`plain ${request.headers.host}`))
  const secure = createSecureServer({ key, cert }, (request, reply) => reply.end(`secure ${request.headers.host}`))
  const bulk = createPlainServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {}).end(Buffer.alloc(payload, 'x'))
    socket.resume()
  })
  servers = [plain, secure, bulk]
  for (const server of servers) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  ports = { plain: portOf(plain), secure: portOf(secure), bulk: portOf(bulk) }
  const hosts = Object.values(ports).flatMap((port) => [`api.example.com:${port}`, `127.0.0.1:${port}`])
  proxy = await openEgress({ hosts, identity, resolve: async () => ['127.0.0.1'] })
  if (identity) giveTree(folder, identity)
})
afterAll(async () => {
  await proxy.close()
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true })
})

boxedTest.each([
  ['fetch', `const get = async (url) => (await fetch(url)).text()`],
  [
    'http and https',
    `const get = (url) => new Promise((done, fail) =>
      require(url.split(':')[0]).get(url, async (reply) => done(String(Buffer.concat(await reply.toArray())))).on('error', fail))`,
  ],
])('%s of a program that may not spawn reaches what is listed, and nothing else', async (_, get) => {
  const output = await runInBox(`
    ${get}
    const attempt = (url) => get(url).catch((error) => (error.cause ?? error).message)
    ;(async () => {
      console.log(await attempt('http://api.example.com:${ports.plain}/'))
      console.log(await attempt('https://api.example.com:${ports.secure}/'))
      console.log(await attempt('https://evil.example.com/'))
      console.log(await attempt('http://127.0.0.1:${ports.plain}/'))
    })()
  `)

  expect(output.split('\n')).toEqual([
    `plain api.example.com:${ports.plain}`,
    `secure api.example.com:${ports.secure}`,
    'Refused by the sandbox: evil.example.com:443 is not in the list of hosts.',
    `connect ECONNREFUSED 127.0.0.1:${ports.plain}`,
    '',
  ])
})

boxedTest.each([300_000, 3_000_000, 6_000_000])(
  'the last of %d bytes reaches the box although their host is gone',
  async (size) => {
    payload = size
    const output = await runInBox(`
    const socket = require('node:net').connect({ port: ${EGRESS_PORT}, host: '127.0.0.1', allowHalfOpen: true }).pause()
    socket.end('CONNECT 127.0.0.1:${ports.bulk} HTTP/1.1\\r\\n\\r\\n')
    setTimeout(async () => console.log(Buffer.concat(await socket.toArray()).length), 300)
  `)

    expect(Number(output)).toBe(size + 'HTTP/1.1 200 Connection Established\r\n\r\n'.length)
  },
)

boxedTest(
  'what listens in a box can be reached from outside through its proxy, by IPv4 or IPv6, and nothing else',
  async () => {
    const sandbox = await openSandbox({ mode: 'required' })
    const serve = `
    const serve = (address, port) => require('node:net').createServer((socket) =>
      socket.on('data', (chunk) => socket.end(address + ' heard ' + chunk))).listen(port, address)
    serve('127.0.0.1', 4001)
    serve('::1', 4002).on('listening', () => console.log('ready'))
    process.stdin.resume().on('end', () => process.exit())`
    const policy = { sideEffects: ['shell'] as const }
    const running = await sandbox.spawn({ program: process.execPath, args: ['-e', serve], policy })
    await once(running.stdout, 'data')
    const say = async (port: number) => {
      const socket = await running.connectInside?.(port)
      socket?.end('hello')
      return String(Buffer.concat((await socket?.toArray()) ?? []))
    }

    expect(await Promise.all([say(4001), say(4001), say(4002)])).toEqual([
      '127.0.0.1 heard hello',
      '127.0.0.1 heard hello',
      '::1 heard hello',
    ])
    await expect(say(4003)).rejects.toMatchObject({ code: 'PORT_UNUSED' })
    await running.stop()
  },
)

async function runInBox(source: string): Promise<string> {
  const running = await spawnBoxed(
    {
      program: process.execPath,
      args: ['-e', source],
      env: { NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') },
      policy: { sideEffects: ['read', 'network'], hosts: [], worktree: folder },
    },
    { bubblewrap: BUBBLEWRAP, identity, egressSocket: proxy.socket },
  )
  const [output, errors] = await Promise.all([running.stdout.toArray(), running.stderr.toArray()])
  return `${Buffer.concat(output)}${Buffer.concat(errors)}`
}

function makeCertificate(): [Buffer, Buffer] {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const name = ['-subj', '/CN=api.example.com', '-addext', 'subjectAltName=DNS:api.example.com']
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  execFileSync('/usr/bin/openssl', ['req', ...kind, ...name, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return [readFileSync(key), readFileSync(cert)]
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}
