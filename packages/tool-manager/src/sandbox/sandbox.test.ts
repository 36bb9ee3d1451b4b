import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { BoxLaunch } from './box.ts'
import { isReachable, resolveIdentity } from './identity.ts'
import { openSandbox } from './sandbox.ts'
import { checkSandbox, type SandboxStatus } from './self-test.ts'

const run = promisify(execFile)
const { status } = await openSandbox({ mode: 'auto' })
const boxedTest = test.runIf(status.available)
const rootTest = test.runIf(status.available && process.getuid?.() === 0)
if (!status.available)
  process.stderr.write(`NOT TESTED: nothing can be boxed here. ${status.reason} To test it: ${status.fix}\n`)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-sandbox-'))
  chmodSync(folder, 0o755)
})
afterEach(() => rmSync(folder, { recursive: true }))

test('where nothing can be boxed, that is the fault of the machine and not of the box', () => {
  const mustBox = process.env.MATRIX_TEST_SANDBOX === 'required'

  expect(status).not.toHaveProperty('reason', expect.stringContaining('does not hold'))
  expect(status).toHaveProperty('available', mustBox ? true : status.available)
})

boxedTest('the self-test builds a box, tries to get out, and names the version', () => {
  expect(status).toEqual({ available: true, version: expect.stringMatching(/^\d+\.\d+\.\d+$/) })
})

test('case 15: where bubblewrap is missing, that is the reason and installing it the fix', async () => {
  const found = await checkSandbox({ bubblewrap: join(folder, 'bwrap') })

  expect(found).toMatchObject({ available: false, reason: `${folder}/bwrap is missing.` })
  expect(found).toHaveProperty('fix', expect.stringMatching(/bubblewrap$/))
})

test('case 15: a bubblewrap that pretends to box is found out', async () => {
  // Skips the limits as well: outside a sandbox, the process limit counts everything the user runs.
  const fake = writeProgram(
    'bwrap',
    'if [ "$1" = --version ]; then echo bubblewrap 0.11.0; else shift 4; until [ "$1" = -- ]; do shift; done; shift; exec "$@"; fi',
  )

  expect(await checkSandbox({ bubblewrap: fake })).toMatchObject({
    available: false,
    reason: expect.stringContaining('The box does not hold: a file outside could be read'),
  })
})

test('case 15: a bubblewrap that is too old or cannot build a box is named as such', async () => {
  const old = writeProgram('old', 'echo bubblewrap 0.4.1')
  const broken = writeProgram(
    'broken',
    'if [ "$1" = --version ]; then echo bubblewrap 0.8.0; else echo "no namespaces" >&2; exit 1; fi',
  )

  expect(await checkSandbox({ bubblewrap: old })).toMatchObject({ reason: 'bubblewrap 0.4.1 is too old.' })
  expect(await checkSandbox({ bubblewrap: broken })).toMatchObject({
    reason: 'The box could not be built: no namespaces',
    version: '0.8.0',
  })
})

boxedTest('case 15: a bwrap that comes first in PATH or lies in the current folder is never run', async () => {
  const marker = join(folder, 'was-run')
  writeProgram('bwrap', `touch ${marker}`)
  const { PATH } = process.env
  process.env.PATH = `${folder}${delimiter}${PATH}`
  try {
    const sandbox = await openSandbox({ mode: 'required' })
    const running = await sandbox.spawn(hello())
    expect(await textOf(running.stdout)).toBe('hello')
  } finally {
    process.env.PATH = PATH
  }
  expect(existsSync(marker)).toBe(false)
})

rootTest('case 15: where user namespaces are forbidden nothing is started, and the error says what to do', async () => {
  const main = await bundle(`
    import { openSandbox } from './sandbox.ts'
    const launch = { program: process.execPath, args: ['-e', ''], policy: { sideEffects: [] } }
    for (const mode of ['required', 'auto']) {
      const sandbox = await openSandbox({ mode })
      await sandbox.spawn(launch).then(() => console.log('started'), ({ code, hint }) => console.log(code, hint))
    }
  `)
  // In a user namespace of its own, whose limit on further ones can be set without touching the machine's.
  const forbid = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
  const { stdout } = await run('unshare', [
    '--user',
    '--map-root-user',
    'sh',
    '-c',
    forbid,
    'sh',
    process.execPath,
    main,
  ])

  expect(stdout).toBe('SANDBOX_UNAVAILABLE sudo sysctl -w user.max_user_namespaces=15000\n'.repeat(2))
})

const ordinary = { uid: 54321, gid: 54321 }

const reachableTest = test.runIf(
  status.available && process.getuid?.() === 0 && isReachable(process.execPath, ordinary),
)

reachableTest('an ordinary user has the same box', async () => {
  const main = await bundle(`
    import { checkSandbox } from './self-test.ts'
    console.log(JSON.stringify({ uid: process.getuid(), ...(await checkSandbox()) }))
  `)
  const user = [
    '--reuid',
    `${ordinary.uid}`,
    '--regid',
    `${ordinary.gid}`,
    '--clear-groups',
    '--',
    process.execPath,
    main,
  ]
  const { stdout } = await run('setpriv', user, { env: { HOME: '/nonexistent' } })
  const found: SandboxStatus & { uid: number } = JSON.parse(stdout)

  expect(found).toMatchObject({ uid: 54321, available: true })
})

rootTest('a box never runs as root', async () => {
  expect(() => resolveIdentity({ uid: 0, gid: 0 })).toThrow('A box never runs as root')
  const sandbox = await openSandbox({ mode: 'required' })
  const running = await sandbox.spawn(hello('process.stdout.write(String(process.getuid()))'))

  expect(await textOf(running.stdout)).toBe('65534')
})

test('turned off, programs run without a box and the status says so', async () => {
  const sandbox = await openSandbox({ mode: 'off' })
  const running = await sandbox.spawn(hello())

  expect(await textOf(running.stdout)).toBe('hello')
  expect(running.isBoxed).toBe(false)
  expect(sandbox).toMatchObject({ isBoxing: false, status: { reason: 'The sandbox is turned off in the settings.' } })
})

test('without a box, a program still gets only the environment it is given', async () => {
  process.env.MATRIX_TEST_CANARY = 'canary'
  const sandbox = await openSandbox({ mode: 'off' })
  const launch = hello('process.stdout.write(Object.keys(process.env).sort().join())')
  const running = await sandbox.spawn({ ...launch, env: { MATRIX_BOXED: '1' } })

  expect(await textOf(running.stdout)).toBe('HOME,LANG,PATH')
  delete process.env.MATRIX_TEST_CANARY
})

boxedTest('a program that closes with its input ends by itself; one that does not is ended', async () => {
  const sandbox = await openSandbox({ mode: 'required' })
  const polite = await sandbox.spawn(hello('process.stdin.resume()'))
  const stubborn = await sandbox.spawn(hello('setInterval(() => {}, 1000)'))

  expect(await polite.stop()).toEqual({ code: 0, signal: null })
  expect(await stubborn.stop(200)).toEqual({ code: null, signal: 'SIGKILL' })
})

boxedTest('a box is not started from a thread that may end before the daemon', async () => {
  const main = await bundle(`
    import { isMainThread, Worker } from 'node:worker_threads'
    import { spawnBoxed } from './box.ts'
    const launch = { program: process.execPath, policy: { sideEffects: [] } }
    if (isMainThread) new Worker(new URL(import.meta.url))
    else await spawnBoxed(launch, { bubblewrap: '/usr/bin/bwrap' }).catch(({ message }) => console.log(message))
  `)

  expect((await run(process.execPath, [main])).stdout).toBe('A box is started from the main thread only.\n')
})

boxedTest('a NUL in the environment adds no argument to the box', async () => {
  const sandbox = await openSandbox({ mode: 'required' })
  const secret = join(folder, 'secret')
  writeFileSync(secret, 'canary')
  const env = { HARMLESS: `value\0--ro-bind\0${secret}\0${secret}` }

  await expect(sandbox.spawn({ ...hello(), env })).rejects.toMatchObject({ code: 'SANDBOX_REFUSED' })
})

boxedTest('a program that is not Node has the proxy too, and without shell nothing to start but Node', async () => {
  const sandbox = await openSandbox({ mode: 'required' })
  const script =
    'socket(S, 2, 1, 0); connect(S, pack("Sna4x8", 2, 24731, "\\x7f\\0\\0\\1")) or die $!; syswrite S, "CONNECT a.example:443 HTTP/1.1\\r\\n\\r\\n"; print <S>; print -e "/bin/sh" ? "shell" : "no shell"'
  const policy = { sideEffects: ['network'] as const, hosts: ['example.com'] }
  const running = await sandbox.spawn({ program: '/usr/bin/perl', args: ['-e', script], policy })

  expect(await textOf(running.stdout)).toMatch(/^HTTP\/1.1 403 .*no shell$/s)
})

function hello(source = 'process.stdout.write("hello")'): BoxLaunch {
  return { program: process.execPath, args: ['-e', source], policy: { sideEffects: [] } }
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += chunk
  return text
}

function writeProgram(name: string, script: string): string {
  const file = join(folder, name)
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return file
}

async function bundle(contents: string): Promise<string> {
  const outfile = join(folder, 'main.mjs')
  const stdin = { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)), loader: 'ts' } as const
  await build({ stdin, outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' })
  return outfile
}
