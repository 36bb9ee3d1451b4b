import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connectLocal } from '@matrix/client/node'
import { afterEach, beforeEach, expect, test } from 'vitest'

const program = fileURLToPath(new URL('../bin/matrix-daemon.js', import.meta.url))

let folder: string
const running: ChildProcess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mxd-'))
})
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

test('the daemon starts, is found by its data directory, and ends in order', async () => {
  const daemon = start()
  await daemon.ready()
  const client = await connectLocal(folder)
  const status = await client.getStatus()
  const stream = client.events()
  await stream.next()
  daemon.child.kill('SIGTERM')
  const code = await daemon.ended

  expect(status).toMatchObject({ pid: daemon.child.pid, dataDirectory: folder })
  expect(code).toBe(0)
  expect(existsSync(join(folder, 'daemon.json'))).toBe(false)
  await stream.return()
})

test('a killed daemon leaves nothing that keeps the next one from starting', async () => {
  const first = start()
  await first.ready()
  const before = readFileSync(join(folder, 'run', 'token'), 'utf8')
  first.child.kill('SIGKILL')
  await first.ended
  const second = start()
  await second.ready()

  expect((await (await connectLocal(folder)).getStatus()).pid).toBe(second.child.pid)
  expect(readFileSync(join(folder, 'run', 'token'), 'utf8')).not.toBe(before)
})

test('the file of the daemon says how to start it again, and nothing that was for this time only', async () => {
  const args = [
    '--foreground',
    '--enrol',
    '--host',
    '::1',
    '--name',
    'a.example',
    '--name',
    'b.example',
    '--ui',
    'dist/ui',
  ]
  await start(args).ready()

  expect(JSON.parse(readFileSync(join(folder, 'daemon.json'), 'utf8')).args).toEqual([
    '--port=0',
    '--host=::1',
    '--name=a.example',
    '--name=b.example',
    `--ui=${resolve('dist/ui')}`,
  ])
})

test('with --enrol it prints an address whose code lets in one browser', async () => {
  const daemon = start(['--enrol'])
  await daemon.ready()
  const [, code = ''] = /\/#enrol=([0-9A-Z]{10})\n/.exec(daemon.output()) ?? []
  const { publicKey } = await crypto.subtle.generateKey(
    { name: 'RSA-OAEP', modulusLength: 3072, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
    false,
    ['encrypt', 'decrypt'],
  )
  const { n = '', e = '' } = await crypto.subtle.exportKey('jwk', publicKey)
  const client = await connectLocal(folder)
  const enrolled = await client.enrolDevice({ body: { code, name: 'Browser', key: { kty: 'RSA', n, e } } })

  expect(enrolled.state).toBe('enrolled')
  expect(readFileSync(join(folder, 'daemon.log'), 'utf8')).not.toContain(code)
}, 40_000)

test('a second daemon on the same directory says who holds it, and harms nothing', async () => {
  const first = start()
  await first.ready()
  const token = readFileSync(join(folder, 'run', 'token'), 'utf8')
  const second = start()

  expect([await second.ended, second.errors()]).toEqual([
    4,
    expect.stringMatching(
      new RegExp(
        `in use by process ${first.child.pid} .*\\n {2}Use the one that runs, at http://127\\.0\\.0\\.1:\\d+, or`,
      ),
    ),
  ])
  expect(readFileSync(join(folder, 'run', 'token'), 'utf8')).toBe(token)
  expect((await (await connectLocal(folder)).health()).ok).toBe(true)
})

test('npm start beside a daemon on the same data says where it runs, and starts and builds nothing', async () => {
  const first = start()
  await first.ready()
  const { url } = JSON.parse(readFileSync(join(folder, 'daemon.json'), 'utf8'))
  const main = fileURLToPath(new URL('../../../tooling/bootstrap/main.mjs', import.meta.url))
  const beside = spawnSync(process.execPath, [main, 'start', '--port', '0'], {
    env: { ...process.env, MXD_DATA_DIR: folder },
    encoding: 'utf8',
  })

  expect([beside.status, beside.stdout, beside.stderr]).toEqual([
    0,
    expect.stringMatching(`^Matrix runs already at ${url}\n.*matrix device add.*matrix daemon stop`),
    '',
  ])
})

test('a port that is in use is named', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const daemon = start(['--port', String(port)])

  expect([await daemon.ended, daemon.errors()]).toEqual([
    3,
    `error: Port ${port} of 127.0.0.1 is used by another program.\n  Choose another with --port, or for good with matrix config set port; or end what uses it.\n`,
  ])
  expect(existsSync(join(folder, 'daemon.json'))).toBe(false)
  other.close()
})

test('without git, or with one that is too old, it says so at once', async () => {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const missing = start([], { PATH: bin })
  const missingEnd = [await missing.ended, missing.errors()]
  writeFileSync(join(bin, 'git'), '#!/bin/sh\necho git version 2.30.1\n')
  chmodSync(join(bin, 'git'), 0o755)
  const old = start([], { PATH: bin })

  expect(missingEnd).toEqual([5, expect.stringMatching(/^error: There is no git on the PATH\.\n {2}Install git/)])
  expect([await old.ended, old.errors()]).toEqual([5, expect.stringContaining('2.30.1 is too old')])
})

test('where nothing can be written, it names the place', async () => {
  const daemon = start(['--data-dir', '/dev/null/nowhere'])

  expect([await daemon.ended, daemon.errors()]).toEqual([6, expect.stringMatching(/^error: .*\/dev\/null\/nowhere/)])
})

test('the exit code tells the reason also where nothing can be said', async () => {
  const daemon = start(['--data-dir', '/dev/null/nowhere'])
  daemon.child.stdout.destroy()
  daemon.child.stderr.destroy()

  expect(await daemon.ended).toBe(6)
})

test.each([
  [['--port', 'http'], '"http" is not a port'],
  [['--prot', '1'], "Unknown option '--prot'"],
  [['--host', '0.0.0.0'], '0.0.0.0 can be reached from other machines, which needs TLS'],
  [['--tls-cert', 'x'], '--tls-cert and --tls-key belong together'],
])('%j is refused with a sentence', async (args, sentence) => {
  const daemon = start(args)

  expect([await daemon.ended, daemon.errors()]).toEqual([2, expect.stringContaining(sentence)])
})

test('a client that never lets go does not keep the daemon from ending', async () => {
  const daemon = start()
  await daemon.ready()
  const { port } = JSON.parse(readFileSync(join(folder, 'daemon.json'), 'utf8'))
  const stubborn = connect(port, '127.0.0.1')
  stubborn.on('error', () => {})
  stubborn.write(`POST /api/projects HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 100\r\n\r\n{`)
  await new Promise((resolve) => setTimeout(resolve, 100))
  daemon.child.kill('SIGINT')

  expect(await daemon.ended).toBe(0)
})

function start(args: string[] = [], env: Record<string, string> = {}) {
  const all = [program, '--data-dir', folder, '--port', '0', ...args]
  const child = spawn(process.execPath, all, { env: { PATH: process.env.PATH, HOME: folder, ...env } })
  running.push(child)
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const ready = async () => {
    for (const end = Date.now() + 15_000; Date.now() < end && !output.includes('Matrix runs'); )
      await new Promise((resolve) => setTimeout(resolve, 20))
    if (!output.includes('Matrix runs')) throw new Error(`it did not start: ${output}${errors}`)
  }
  return { child, ended, ready, output: () => output, errors: () => errors }
}
