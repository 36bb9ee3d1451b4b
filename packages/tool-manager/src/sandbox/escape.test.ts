import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createSocket } from 'node:dgram'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { build } from 'esbuild'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { programTransport } from '../program-transport.ts'
import { patience } from '../scripted-server.testing.ts'
import { type BoxLaunch, spawnBoxed } from './box.ts'
import type { BoxPolicy } from './box-policy.ts'
import { giveTree, resolveIdentity } from './identity.ts'
import { openSandbox } from './sandbox.ts'
import { BUBBLEWRAP } from './self-test.ts'

const identity = resolveIdentity()
const sandbox = await openSandbox({ mode: 'required' })
const { status } = sandbox
const boxedTest = test.runIf(status.available)
if (!status.available)
  process.stderr.write(`NOT TESTED: nothing can be boxed here. ${status.reason} To test it: ${status.fix}\n`)

const hostileServer = fileURLToPath(new URL('../../fixtures/hostile-server', import.meta.url))
const canary = `canary-${createHash('sha256').update(String(process.pid)).digest('hex')}`

const everyClass = [[], ['read'], ['read', 'write'], ['read', 'network'], ['read', 'write', 'shell']] as const

let folder: string
let worktree: string
const cleanups: (() => unknown)[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-escape-'))
  chmodSync(folder, 0o755)
  worktree = join(folder, 'worktree')
  mkdirSync(worktree)
  writeFileSync(join(worktree, 'file.txt'), 'in the worktree')
  writeFileSync(join(folder, 'secret'), canary)
})

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  rmSync(folder, { recursive: true })
})

boxedTest('case 1: without network, neither TCP nor UDP reaches the loopback of the host', async () => {
  const host = await listen()
  const server = await connect({ sideEffects: ['read', 'write', 'shell'] })

  expect(await server.attack('tcp', { port: host.port })).toEqual({ error: 'ECONNREFUSED' })
  await server.attack('udp', { port: host.port })
  await sleep(100)
  expect(host.hits()).toBe(0)
})

boxedTest.each([
  ['no list', undefined],
  ['every public host', ['*']],
])('case 1: with network and %s, the loopback of the host is out of reach in every spelling', async (_, hosts) => {
  const host = await listen()
  const server = await connect({ sideEffects: ['read', 'network'], hosts })

  expect(await server.attack('tcp', { port: host.port })).toEqual({ error: 'ECONNREFUSED' })
  for (const name of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '169.254.169.254'])
    expect(await server.attack('proxy', { text: `CONNECT ${name}:${host.port} HTTP/1.1\r\n\r\n` })).toMatchObject({
      ok: expect.stringContaining(' 403 '),
    })
  expect(host.hits()).toBe(0)
})

boxedTest('case 44: names are not looked up in a box, and that fails at once', async () => {
  const server = await connect({ sideEffects: ['read', 'shell', 'network'], hosts: ['*'] })
  const started = performance.now()

  const run = (command: string) => server.attack('spawn', { file: '/bin/bash', args: ['-c', command] })
  expect(await run('getent hosts secret.example.com || echo none')).toMatchObject({ ok: { stdout: 'none\n' } })
  expect(await run('(: < /dev/tcp/192.0.2.1/443) 2>&1 | tail -n1 | grep -o unreachable')).toMatchObject({
    ok: { stdout: 'unreachable\n' },
  })
  expect(performance.now() - started).toBeLessThan(3000)
})

boxedTest('case 2: no unix socket of the host can be reached, by its path or by an abstract name', async () => {
  const path = join(folder, 'daemon.sock')
  const host = await listen(path)
  const abstract = await listen(`\0matrix-${process.pid}`)

  for (const sideEffects of everyClass) {
    const server = await connect({ sideEffects })
    expect(await server.attack('unix', { path })).toHaveProperty('error')
    expect(await server.attack('unix', { path: `\0matrix-${process.pid}` })).toHaveProperty('error')
    await server.close()
  }
  expect(host.hits() + abstract.hits()).toBe(0)
})

boxedTest('case 3: no family of sockets but the internet’s, and no io_uring', async () => {
  const server = await connect({ sideEffects: ['read', 'shell'] })
  const families = { netlink: 16, packet: 17, algorithm: 38, vsock: 40 }

  for (const [name, family] of Object.entries(families))
    expect([name, await perl(server, `socket(S, ${family}, 3, 12) or print $!+0`)]).toEqual([name, '97'])
  expect(await perl(server, `syscall(425, 8, $buffer = "\\0" x 120) < 0 and print $!+0`)).toBe('1')
})

boxedTest('case 3: what a box can list of the network is its own, and nothing where it needs none', async () => {
  const list = `try { console.log(Object.keys(require('node:os').networkInterfaces()).join()) } catch (error) { console.log(error.info.code) }`
  const interfaces = async (sideEffects: BoxPolicy['sideEffects'], hosts?: string[]) => {
    const launch = { program: process.execPath, args: ['-e', list], policy: { sideEffects, hosts } }
    return String(Buffer.concat(await (await sandbox.spawn(launch)).stdout.toArray())).trim()
  }

  expect(await interfaces(['shell'])).toBe('lo')
  expect(await interfaces(['network'], ['api.example.com'])).toBe('lo')
  expect(await interfaces(['network'])).toBe('lo')
  expect(await interfaces(['read', 'write'])).toMatch(/97|EAFNOSUPPORT/)
})

boxedTest(
  'case 3: through the one kind of netlink that there is, nothing can be changed, not even in the box',
  async () => {
    const server = await connect({ sideEffects: ['read', 'shell'] })
    const address = 'pack("CCCCL", 2, 8, 0, 0, 1) . pack("SSC4", 8, 2, 10, 9, 8, 7)'
    const requests = {
      'take the loopback down': [16, 'pack("CCSlLL", 0, 0, 0, 1, 0, 1)'],
      'add an address': [20, address],
      'remove an address': [21, 'pack("CCCCL", 2, 8, 0, 0, 1) . pack("SSC4", 8, 2, 127, 0, 0, 1)'],
      'add a route': [24, 'pack("C8L", 2, 0, 0, 0, 254, 4, 0, 1, 0)'],
      'add a rule': [32, 'pack("C8L", 2, 0, 0, 0, 254, 0, 0, 1, 0)'],
    }

    for (const [name, [type, body]] of Object.entries(requests)) {
      const send = `$body = ${body}; send(S, pack("LSSLL", 16 + length $body, ${type}, 5, 1, 0) . $body, 0)`
      const read = 'recv(S, $answer, 4096, 0); print join " ", (unpack "LSSLLl", $answer)[1, 5]'
      // An acknowledgement (2) that says EPERM (-1).
      expect([name, await perl(server, `socket(S, 16, 3, 0) or print $!; ${send}; ${read}`)]).toEqual([name, '2 -1'])
    }
  },
)

boxedTest('case 4: without write nothing in the worktree changes; with it, nothing outside', async () => {
  const before = hashTree(folder)
  const reader = await connect({ sideEffects: ['read', 'shell'] })
  expect(await reader.attack('write', { path: join(worktree, 'file.txt') })).toEqual({ error: 'EROFS' })
  expect(await reader.attack('write', { path: join(worktree, 'more.txt') })).toEqual({ error: 'EROFS' })
  expect(hashTree(folder)).toBe(before)

  const writer = await connect({ sideEffects: ['read', 'write', 'shell'] })
  // The folder around the worktree is the box's own scratch space.
  await writer.attack('write', { path: join(folder, 'secret') })
  expect(await writer.attack('write', { path: '/usr/lib/matrix-escape' })).toEqual({ error: 'EROFS' })
  expect(await writer.attack('write', { path: '/etc/passwd' })).toEqual({ error: 'EROFS' })
  expect(hashTree(folder)).toBe(before)
  expect(await writer.attack('write', { path: join(worktree, 'file.txt'), text: 'mine' })).toEqual({ ok: null })
  expect(readFileSync(join(worktree, 'file.txt'), 'utf8')).toBe('mine')
})

boxedTest('case 5: no secret of the machine can be read, in any class', async () => {
  const other = join(folder, 'other-worktree')
  mkdirSync(other)
  writeFileSync(join(other, 'plan.txt'), canary)
  const places = [join(folder, 'secret'), join(other, 'plan.txt'), '/etc/shadow', '/etc/sudoers', '/root/.npmrc']

  for (const sideEffects of everyClass) {
    const server = await connect({ sideEffects })
    for (const path of places) expect(await server.attack('read', { path })).toEqual({ error: 'ENOENT' })
    for (const path of ['/var/lib', '/run/user', '/sys', '/boot'])
      expect(await server.attack('list', { path })).toEqual({ error: 'ENOENT' })
    await server.close()
  }
})

boxedTest('case 6: a link planted where something is protected leads bubblewrap nowhere', async () => {
  const victim = join(folder, 'victim')
  mkdirSync(victim, { mode: 0o777 })
  chmodSync(victim, 0o777)
  symlinkSync(`/oldroot${victim}/made-by-bubblewrap`, join(worktree, '.vscode'))
  symlinkSync(`${victim}/made-by-bubblewrap`, join(worktree, '.mcp.json'))
  const server = await connect({ sideEffects: ['read', 'write', 'shell'] })

  expect(await server.attack('list', { path: worktree })).toHaveProperty('ok')
  expect(readdirSync(victim)).toEqual([])
})

boxedTest('case 6: a protected path that appears while a box is alive is left alone by the next one', async () => {
  const first = await connect({ sideEffects: ['read', 'write', 'shell'] })
  mkdirSync(join(worktree, '.husky'), { mode: 0o777 })
  chmodSync(join(worktree, '.husky'), 0o777)
  const second = await connect({ sideEffects: ['read', 'write', 'shell'] })
  expect(await second.attack('write', { path: join(worktree, '.husky/pre-commit') })).toEqual({ ok: null })
  await first.close()
  await second.close()

  const third = await connect({ sideEffects: ['read', 'write', 'shell'] })
  expect(await third.attack('write', { path: join(worktree, '.husky/pre-push') })).toEqual({ error: 'EROFS' })
})

boxedTest('what other programs obey can be read in a worktree and neither written nor replaced', async () => {
  mkdirSync(join(worktree, '.git'))
  writeFileSync(join(worktree, '.git/config'), 'config')
  writeFileSync(join(worktree, '.mcp.json'), '{}')
  const server = await connect({ sideEffects: ['read', 'write', 'shell'] })

  expect(await server.attack('read', { path: join(worktree, '.git/config') })).toEqual({ ok: 'config' })
  expect(await server.attack('write', { path: join(worktree, '.git/config') })).toEqual({ error: 'EROFS' })
  expect(await server.attack('write', { path: join(worktree, '.mcp.json') })).toEqual({ error: 'EROFS' })
  expect(await server.attack('replace', { path: join(worktree, '.git'), target: '/tmp' })).toEqual({ error: 'EBUSY' })
})

boxedTest('case 7: no remount, mount, device, namespace or trace gets anyone out', async () => {
  const server = await connect({ sideEffects: ['read', 'write', 'shell'] })
  const commands = {
    remount: ['mount', '-o', 'remount,bind,rw', '/usr'],
    tmpfs: ['mount', '-t', 'tmpfs', 'x', '/tmp'],
    unmount: ['umount', '/proc/sys'],
    device: ['mknod', '/tmp/disk', 'b', '8', '0'],
    namespace: ['unshare', '-Ur', 'true'],
    join: ['nsenter', '-t', '1', '-m', 'true'],
    chroot: ['/usr/sbin/chroot', '/tmp', 'true'],
  }
  for (const [file = '', ...args] of Object.values(commands)) {
    const { ok } = (await server.attack('spawn', { file, args })) as { ok: { code: number; stderr: string } }
    expect(`${args} ${ok.code} ${ok.stderr}`).toMatch(/not permitted|denied|must be superuser|failed/)
    expect(ok.code).not.toBe(0)
  }
  // PTRACE_ATTACH to the parent
  expect(await perl(server, 'syscall(101, 16, getppid(), 0, 0) < 0 and print $!+0')).toBe('1')
  // The first process of the box belongs to the same user, so it must not be able to do more than the others.
  const { ok: first } = await server.attack('read', { path: '/proc/1/status' })
  for (const line of [/^CapEff:\t0+$/m, /^CapBnd:\t0+$/m, /^NoNewPrivs:\t1$/m, /^Seccomp:\t2$/m])
    expect(first).toMatch(line)
})

boxedTest('case 8: the kernel’s settings cannot be written, whoever the daemon is', async () => {
  const server = await connect({ sideEffects: ['read', 'write', 'shell'] })
  const path = '/proc/sys/kernel/core_pattern'
  const text = readFileSync(path, 'utf8')

  expect(['EROFS', 'EACCES']).toContain((await server.attack('write', { path, text })).error)
  expect(readFileSync(path, 'utf8')).toBe(text)
})

boxedTest('case 9: no environment but its own can be read, and no process of the host is seen', async () => {
  process.env.MATRIX_TEST_CANARY = canary
  cleanups.push(() => delete process.env.MATRIX_TEST_CANARY)
  const server = await connect({ sideEffects: ['read', 'write', 'shell'] }, { TOKEN: 'given to the server' })

  const environment = await server.attack('environment')
  expect(environment).toMatchObject({ ok: { TOKEN: 'given to the server', HOME: '/home/agent' } })
  const { ok: processes } = (await server.attack('processes')) as { ok: { pid: number; environ: string }[] }
  expect(processes.length).toBeLessThan(6)
  expect(JSON.stringify([environment, processes])).not.toContain(canary)
  expect(processes.find(({ pid }) => pid === 1)?.environ).not.toContain('TOKEN')
})

boxedTest('case 10: a secret given to a server stands in no command line of the host', async () => {
  await connect({ sideEffects: ['read'] }, { TOKEN: canary })

  const lines = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => readOrEmpty(`/proc/${pid}/cmdline`))
  expect(lines.some((line) => line.includes('hostile-server'))).toBe(true)
  expect(lines.filter((line) => line.includes(canary))).toEqual([])
})

boxedTest('case 11: without shell nothing can be started, and threads still work', async () => {
  const server = await connect({ sideEffects: ['read', 'write'] })

  expect(await server.attack('spawn', { file: process.execPath, args: ['-v'] })).toEqual({ error: 'EPERM' })
  expect(await server.attack('spawn', { file: '/bin/sh', args: ['-c', 'id'] })).toHaveProperty('error')
  expect(await server.attack('list', { path: '/usr/bin' })).not.toHaveProperty('ok.50')
  expect(await server.attack('thread')).toEqual({ ok: 'a thread' })
})

boxedTest('case 12: what left the session and forked twice does not survive its daemon', async () => {
  const mark = `matrix-orphan-${process.pid}`
  const file = await bundleDaemon(`
    const flee = "(setsid bash -c 'exec -a ${mark} sleep 300' &) & echo fled; sleep 300"
    const launch = { program: '/bin/bash', args: ['-c', flee], policy: { sideEffects: ['read', 'shell'] } }
    const running = await sandbox.spawn(launch)
    running.stdout.pipe(process.stdout)
  `)
  const daemon = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  cleanups.push(() => daemon.kill('SIGKILL'))
  await new Promise((done) => daemon.stdout.once('data', done))
  await expect.poll(() => survivors(mark), patience).toBe(1)

  daemon.kill('SIGKILL')
  await expect.poll(() => survivors(mark), patience).toBe(0)
})

boxedTest('no descriptor that the daemon has inherited is open in a sandbox of any class', async () => {
  const file = await bundleDaemon(`
    const look = "const fs = require('node:fs'); console.log(fs.existsSync('/proc/self/fd/68/secret'), fs.readdirSync('/proc/self/fd').filter((fd) => fd > 60).join())"
    for (const sideEffects of ${JSON.stringify(everyClass)}) {
      const running = await sandbox.spawn({ program: process.execPath, args: ['-e', look], policy: { sideEffects } })
      process.stdout.write(Buffer.concat(await running.stdout.toArray()))
    }
  `)
  const home = openSync(folder, 'r')
  const gap = Array.from({ length: 65 }, () => 'ignore' as const)
  const daemon = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit', ...gap, home, home] })
  closeSync(home)

  const found = String(Buffer.concat((await daemon.stdout?.toArray()) ?? []))
  expect(found).toBe('false \n'.repeat(everyClass.length))
})

boxedTest('a server that ignores the end of its input is ended, with all it has started', async () => {
  const mark = `matrix-stubborn-${process.pid}`
  const server = await connect({ sideEffects: ['read', 'shell'] })
  await server.attack('orphan', { mark })
  await expect.poll(() => survivors(mark), patience).toBe(1)
  await server.close()

  await expect.poll(() => survivors(mark), patience).toBe(0)
})

boxedTest('case 13: a fork bomb, a memory hog and a full disk stay in the box, and the daemon goes on', async () => {
  const limits = { processes: 40, memoryBytes: 1 << 30, scratchBytes: 8 << 20, fileBytes: 4 << 20 }
  const server = await connect({ sideEffects: ['read', 'write', 'shell'], limits })

  const bomb =
    'for (1..200) { $pid = fork; if (!defined $pid) { $failed = $!; last } if (!$pid) { sleep 600; exit } push @all, $pid } print "$failed after @{[scalar @all]}"; kill 9, @all'
  const { ok } = (await server.attack('spawn', { file: '/usr/bin/perl', args: ['-e', bomb] })) as {
    ok: { stdout: string }
  }
  const [, forks] = /^Resource temporarily unavailable after (\d+)$/.exec(ok.stdout) ?? []
  expect(Number(forks)).toBeLessThan(40)
  expect(await server.attack('fill', { path: '/tmp/full', megabytes: 4 })).toEqual({ ok: 4 })
  expect(await server.attack('fill', { path: join(worktree, 'full'), megabytes: 16 })).toEqual({ error: 'EFBIG' })
  expect(await server.attack('fill', { path: '/tmp/more', megabytes: 4 })).toEqual({ ok: 4 })
  expect(await server.attack('fill', { path: '/tmp/most', megabytes: 4 })).toEqual({ error: 'ENOSPC' })
  expect(await server.attack('fill', { path: '/matrix-root', megabytes: 1 })).toEqual({ error: 'EROFS' })

  const ticks = watchLoop()
  const hog = await server.attack('memory', { megabytes: 2048 }).catch((error) => ({ error: String(error) }))
  expect(hog).toHaveProperty('error')
  expect(ticks()).toBeGreaterThan(0)
})

boxedTest('case 13: the processes of one box are not counted against another', async () => {
  const limits = { processes: 40 }
  const boxes = await Promise.all([1, 2].map(() => connect({ sideEffects: ['read', 'shell'], limits })))
  const mark = `$mark = ${process.pid};`
  const crowd =
    'for (1..20) { $pid = fork; last if !defined $pid; if (!$pid) { sleep 600; exit } push @all, $pid } $| = 1; print scalar @all; sleep 1 until -e "/tmp/seen"; kill 9, @all'
  const crowds = boxes.map((server) =>
    server.attack('spawn', { file: '/usr/bin/perl', args: ['-e', `${mark} ${crowd}`] }),
  )
  const count = () => survivors(`/usr/bin/perl\0-e\0${mark}`)
  await expect.poll(count, patience).toBe(2 * 21)
  await Promise.all(boxes.map((server) => server.attack('write', { path: '/tmp/seen' })))

  expect(await Promise.all(crowds)).toMatchObject([{ ok: { stdout: '20' } }, { ok: { stdout: '20' } }])
})

boxedTest('case 14: nothing can be typed into the terminal of the one who started the daemon', async () => {
  const code = 'open(T, "+<", "/dev/tty") or print "no terminal"; ioctl(STDIN, 0x5412, $key = "x") or print $!+0'
  const daemon = await bundleDaemon(`
    const launch = { program: '/usr/bin/perl', args: ['-e', ${JSON.stringify(code)}], policy: { sideEffects: ['read', 'shell'] } }
    const running = await sandbox.spawn(launch)
    console.log(String(Buffer.concat(await running.stdout.toArray())))
  `)
  const command = `${process.execPath} ${daemon}`
  const output = execFileSync('/usr/bin/script', ['-qec', command, '/dev/null'], { encoding: 'utf8', stdio: 'pipe' })

  expect(output.trim()).toBe('no terminal1')
})

boxedTest('case 16: an agent has its own way out and sees no other', async () => {
  const host = await listen()
  const allowed = await connect({ sideEffects: ['read', 'network'], hosts: [`127.0.0.1:${host.port}`] })
  const other = await connect({ sideEffects: ['read', 'network'], hosts: ['192.0.2.1:443'] })
  const text = `CONNECT 127.0.0.1:${host.port} HTTP/1.1\r\n\r\n`

  expect(await allowed.attack('proxy', { text })).toMatchObject({ ok: expect.stringContaining(' 200 ') })
  expect(await other.attack('proxy', { text })).toMatchObject({ ok: expect.stringContaining(' 403 ') })
  expect(await other.attack('tcp', { port: host.port })).toEqual({ error: 'ECONNREFUSED' })
  expect(await other.attack('list', { path: '/run/matrix' })).toEqual({ ok: ['egress-bridge.cjs', 'egress.sock'] })
  const { ok: seen = [] } = (await other.attack('list', { path: tmpdir() })) as { ok?: string[] }
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('matrix-egress-'))).not.toEqual([])
  expect(seen.filter((name) => name.startsWith('matrix-egress-'))).toEqual([])
})

boxedTest('a box that is given a folder which holds the whole system is refused', async () => {
  const launch = (path: string): BoxLaunch => ({
    program: process.execPath,
    policy: { sideEffects: ['read'], worktree: path },
  })
  for (const path of [
    '/',
    '/usr',
    '/etc',
    '/home',
    '/root',
    '/proc/self',
    '/sys/kernel',
    'relative',
    join(folder, 'missing'),
  ])
    await expect(spawnBoxed(launch(path), context())).rejects.toMatchObject({ code: 'SANDBOX_REFUSED' })
})

type Outcome = { ok?: unknown; error?: string }
type Hostile = { attack(name: string, args?: object): Promise<Outcome>; close(): Promise<void> }

/** Connects the hostile server in a box with the given policy, as a real client does. */
async function connect(policy: BoxPolicy, env: Record<string, string> = {}): Promise<Hostile> {
  if (identity) giveTree(worktree, identity)
  const launch: BoxLaunch = {
    program: process.execPath,
    args: [join(hostileServer, 'server.mjs')],
    env,
    policy: { worktree, readable: [hostileServer], ...policy },
  }
  const transport = programTransport(() => sandbox.spawn(launch))
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(transport).catch((error) => {
    throw new Error(`${error.message} ${transport.lastWords()}`)
  })
  cleanups.push(() => client.close())
  return {
    close: () => client.close(),
    async attack(name, args = {}) {
      const { content } = await client.callTool({ name, arguments: { ...args } })
      const [first] = content as { text: string }[]
      return JSON.parse(first?.text ?? '')
    },
  }
}

/** A daemon of its own, to be killed or put behind a terminal; `sandbox` is there for it to use. */
async function bundleDaemon(source: string): Promise<string> {
  const outfile = join(folder, 'daemon.mjs')
  const contents = `import { openSandbox } from './sandbox.ts'\nconst sandbox = await openSandbox({ mode: 'required' })\n${source}`
  const stdin = { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)), loader: 'ts' } as const
  await build({ stdin, outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' })
  return outfile
}

function context() {
  return { bubblewrap: BUBBLEWRAP, identity }
}

async function perl(server: Hostile, code: string): Promise<string> {
  const { ok } = (await server.attack('spawn', { file: 'perl', args: ['-e', code] })) as { ok: { stdout: string } }
  return ok.stdout
}

/** A listener of the host that counts who gets through to it, over TCP and UDP or on a path. */
async function listen(path?: string) {
  let hits = 0
  const count = () => {
    hits += 1
  }
  const server = createServer((socket) => {
    count()
    socket.on('error', () => {}).end('the end')
  })
  await new Promise<void>((done) => (path ? server.listen(path, done) : server.listen(0, '127.0.0.1', done)))
  cleanups.push(() => server.close())
  const port = path ? 0 : (server.address() as AddressInfo).port
  if (path?.startsWith('/')) chmodSync(path, 0o777)
  if (!path) {
    const datagrams = createSocket('udp4').on('message', count)
    await new Promise<void>((done) => datagrams.bind(port, '127.0.0.1', done))
    cleanups.push(() => datagrams.close())
  }
  return { port, hits: () => hits }
}

function hashTree(root: string): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' }).sort())
    hash.update(`${name}\0${readOrEmpty(join(root, name))}\0`)
  return hash.digest('hex')
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function survivors(mark: string): number {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readOrEmpty(`/proc/${pid}/cmdline`).startsWith(mark)).length
}

/** How often something else got a turn. */
function watchLoop(): () => number {
  let ticks = 0
  const timer = setInterval(() => {
    ticks += 1
  }, 1)
  cleanups.push(() => clearInterval(timer))
  return () => ticks
}
