import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Policy } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type HookPlace, openHooks } from './hook.ts'
import { lockHookFiles } from './hook-files.ts'
import { openSandbox } from './sandbox/sandbox.ts'
import {
  bootHarness,
  lockOf,
  manifestOf,
  patience,
  scriptedServer,
  surface,
  temporaryFolder,
  textOf,
} from './scripted-server.testing.ts'

const sandbox = await openSandbox({ mode: 'required' })

const tool = { server: 'scripted', tool: 'echo' }

test('a hook is told what happens as JSON on its input', async () => {
  const [outcome] = await run({ command: 'cat' }, { tool_name: '@scripted/echo', tool_input: { value: 1 } })

  expect(outcome?.status).toBe('ok')
  expect(JSON.parse(outcome?.output ?? '')).toMatchObject({
    hook_event_name: 'preToolUse',
    cwd: '/somewhere',
    tool_name: '@scripted/echo',
    tool_input: { value: 1 },
  })
})

test('exit 2 blocks the call, and the model reads why', async () => {
  const { call, events } = await withHook({ command: 'echo "not on Fridays" >&2; exit 2' })
  const answer = await call('echo', { value: 1 })

  expect(answer).toMatchObject({ isError: true, code: 'AUTHORIZATION_DENIED' })
  expect(textOf(answer)).toContain('not on Fridays')
  expect(events).toContainEqual(expect.objectContaining({ type: 'call_denied', step: 'hook' }))
})

test('any other failure lets the call through and is reported', async () => {
  const { call, events } = await withHook({ command: 'exit 1' })

  expect(textOf(await call('echo', { value: 'through' }))).toBe('through')
  expect(events).toContainEqual(expect.objectContaining({ type: 'hook_failed' }))
})

test('a hook that must not fail blocks when it does', async () => {
  const { call } = await withHook({ command: 'no-such-guard', on_error: 'block' })

  expect(await call('echo', { value: 1 })).toMatchObject({ code: 'AUTHORIZATION_DENIED' })
})

test('a hook for another tool does not run', async () => {
  expect(await run({ command: 'exit 2', matcher: '@other' })).toEqual([])
  expect(await run({ command: 'true', matcher: '@scripted/ec*' })).toHaveLength(1)
})

test('a hook that does not end is ended with everything it started', async () => {
  const mark = `${randomInt(100_000, 999_999)}.5`
  const [outcome] = await run({ command: `setsid sleep ${mark} & sleep ${mark}`, timeout_ms: 3000 })

  expect(outcome).toMatchObject({ status: 'failed', output: 'did not end within 3000 ms' })
  await expect.poll(() => countOf(`sleep ${mark}`), patience).toBe(0)
})

test('more than its share of output is cut', async () => {
  const [outcome] = await run({ command: 'head -c 100000 /dev/zero | tr "\\0" x', max_output_size: 10 })

  expect(outcome?.output).toBe('xxxxxxxxxx ... truncated')
})

test('a good answer is remembered for as long as it may be, a bad one never', async () => {
  const hooks = open({
    preToolUse: [0, 1].map((code) => ({ command: `date +%s%N >&2; date +%s%N; exit ${code}`, cache_ttl_seconds: 60 })),
  })
  const runs = [await hooks.run({ trigger: 'preToolUse', tool }), await hooks.run({ trigger: 'preToolUse', tool })]
  const [good, bad] = [0, 1].map((index) => new Set(runs.map((outcomes) => outcomes[index]?.output)).size)

  expect([good, bad]).toEqual([1, 2])
})

test('a hook sees the prompt, and none of the daemon’s own environment', async () => {
  process.env.HOOK_CANARY = 'do-not-leak'
  const hooks = open({ userPromptSubmit: [{ command: 'env' }] })
  const [outcome] = await hooks.run({ trigger: 'userPromptSubmit', input: { prompt: 'hello\u0007there' } })

  expect(outcome?.output).toContain('USER_PROMPT=hello there')
  expect(outcome?.output).not.toContain('do-not-leak')
})

test('the user’s own start-up files do not run before a hook', async () => {
  const home = temporaryFolder()
  writeFileSync(join(home, '.bashrc'), 'echo from bashrc')
  vi.stubEnv('HOME', home)
  onTestFinished(() => void vi.unstubAllEnvs())
  const [outcome] = await run({ command: 'echo from hook' })

  expect(outcome?.output).toBe('from hook\n')
})

test('a hook reads the worktree and can neither write it, nor reach the network, nor see a home', async () => {
  const hits: unknown[] = []
  const server = createServer((request) => hits.push(request.url))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const { worktree } = project({ 'src.txt': 'work in progress' })
  const attempts = [
    'cd "$(sed \'s/.*"cwd":"\\([^"]*\\)".*/\\1/\')"; cat src.txt',
    'echo x > src.txt || echo not-written',
    `(exec 3<>/dev/tcp/127.0.0.1/${port}) || echo not-connected`,
    `ls ${homedir().slice(0, -1)}? || echo no-home`,
  ]
  const [outcome] = await run({ command: attempts.join('; ') }, {}, { worktree, cwd: worktree })

  expect(outcome?.output).toBe('work in progress' + 'not-written\nnot-connected\nno-home\n')
  expect(readFileSync(join(worktree, 'src.txt'), 'utf8')).toBe('work in progress')
  expect(hits).toEqual([])
})

test.each(['bash ./scripts/ctx.sh', 'bash ctx.sh', 'scripts/ctx.sh', 'cat x | sh scripts/ctx.sh'])(
  'a hook whose file vanished or was never locked does not run that of the worktree, and no task waits: `%s`',
  async (command) => {
    const { root, worktree } = project({})
    mkdirSync(join(worktree, 'scripts'))
    for (const file of ['scripts/ctx.sh', 'ctx.sh'])
      writeFileSync(join(worktree, file), '#!/bin/bash\necho from-worktree\n', { mode: 0o755 })
    const hooks = { agentSpawn: [{ command }, { command: 'echo fine; ls ctx.sh' }] }
    const outcomes = await open(hooks, { worktree, cwd: worktree, root }).run({ trigger: 'agentSpawn' })

    expect(outcomes).toMatchObject([
      { status: 'failed', output: expect.stringContaining('was not run: A hook runs') },
      { status: 'ok', output: 'fine\nctx.sh\n' },
    ])
  },
)

test('an agent that rewrites its own guard changes nothing: the approved bytes run', async () => {
  const { root, worktree, lock } = await guarded('./tooling/guard.sh')
  writeFileSync(join(worktree, 'tooling/guard.sh'), '#!/bin/bash\necho open; exit 0\n')
  const { call } = await lock({ base: root, worktree })

  expect(textOf(await call('echo', { value: 1 }))).toContain('guarded by lib')
})

test('a guard whose bytes are not the approved ones is refused by name, and nothing is called', async () => {
  const { root, lock } = await guarded('./tooling/guard.sh')
  for (const file of ['tooling/guard.sh', 'tooling/lib.sh']) {
    const before = readFileSync(join(root, file))
    writeFileSync(join(root, file), 'exit 0\n')
    const { call, events } = await lock({ base: root, worktree: root })
    const answer = await call('echo', { value: 1 })

    expect(answer).toMatchObject({ isError: true, code: 'AUTHORIZATION_DENIED' })
    expect(textOf(answer)).toContain(`${join(root, file)} is not the hook that was approved`)
    expect(events).toContainEqual(expect.objectContaining({ type: 'call_denied', step: 'hook' }))
    writeFileSync(join(root, file), before)
  }
})

test('a guard that is replaced while the agent works is still the approved one', async () => {
  const { root, lock } = await guarded('./tooling/guard.sh')
  const { call } = await lock({ base: root, worktree: root })
  await call('echo', { value: 1 })
  writeFileSync(join(root, 'tooling/guard.sh'), '#!/bin/bash\nexit 0\n')

  expect(textOf(await call('echo', { value: 2 }))).toContain('guarded by lib')
})

test.each([
  './tooling/guard.sh',
  'bash tooling/guard.sh',
  'cat - | sh -e ./tooling/guard.sh',
  'timeout 5 bash tooling/guard.sh',
  '. tooling/guard.sh',
  'bash -c "./tooling/guard.sh"',
])('without a digest in the lock, `%s` is refused and nothing is called', async (command) => {
  const { root } = project({ 'tooling/guard.sh': '#!/bin/bash\nexit 0\n' })
  const [outcome] = await run({ command }, {}, { worktree: root, cwd: root, root })

  expect(outcome).toMatchObject({ status: 'blocked', output: expect.stringContaining('the lock holds no digest') })
})

test.each([
  'make guard',
  'npm run guard',
  'python3 -m guard',
  '"$(pwd)"/tooling/guard.sh',
  'cd tooling && ./guard.sh',
  'G=tooling/guard.sh; bash $G',
  'git hook run pre-commit',
])('what only the worktree could give does not run: `%s`', async (command) => {
  const { worktree, root } = project({
    Makefile: 'guard:\n\t@echo from-worktree\n',
    'package.json': '{"scripts":{"guard":"echo from-worktree"}}',
    'guard.py': 'print("from-worktree")',
  })
  mkdirSync(join(worktree, 'tooling'))
  writeFileSync(join(worktree, 'tooling/guard.sh'), '#!/bin/bash\necho from-worktree\n', { mode: 0o755 })
  const [outcome] = await run({ command, on_error: 'block' }, {}, { worktree, cwd: worktree, root })

  expect(outcome?.status).toBe('blocked')
  expect(outcome?.output).not.toContain('from-worktree\n')
})

test.each([
  'WORKTREE/late.sh',
  'bash WORKTREE/late.sh',
  'node --import WORKTREE/late.mjs -e 1',
  'bash < WORKTREE/late.sh',
  'G=WORKTREE/late.sh; bash $G',
  'cd WORKTREE && ./late.sh',
  'LINK/late.sh',
])('what an agent writes after its hooks are open does not run: `%s`', async (command) => {
  const { worktree, root } = project({})
  const link = join(temporaryFolder(), 'link')
  symlinkSync(worktree, link)
  const spelled = command.replace('WORKTREE', worktree).replace('LINK', link)
  const hooks = open({ preToolUse: [{ command: spelled }] }, { worktree, cwd: worktree, root })
  await hooks.run({ trigger: 'preToolUse', tool, input: {} })
  for (const name of ['late.sh', 'late.mjs'])
    writeFileSync(join(worktree, name), '#!/bin/bash\necho from-worktree\n', { mode: 0o755 })
  const [outcome] = await hooks.run({ trigger: 'preToolUse', tool, input: {} })

  expect(outcome).toMatchObject({
    status: 'blocked',
    output: expect.stringMatching(/lies in the project|cannot be told/),
  })
})

test.each([
  'bash "$(jq -r .cwd)/guard.sh"',
  '"$(jq -r .cwd)"/guard.sh',
  'node "$DIR/guard.mjs"',
  'source $G',
  'cd "$(jq -r .cwd)" && ./guard.sh',
  'xargs bash',
])('a hook whose program cannot be told from its text is refused when it is locked: `%s`', async (command) => {
  const locking = lockHookFiles(policyWith({ command }), project({}).root)

  await expect(locking).rejects.toMatchObject({ code: 'HOOK_REFUSED', message: expect.stringContaining(command) })
})

test('a guard that is not there blocks, whatever its manifest says of failures', async () => {
  for (const command of ['no-such-guard', './gone.sh', '/etc/passwd'])
    expect(await run({ command, on_error: 'warn' })).toMatchObject([{ status: 'blocked' }])
})

test('where nothing can be boxed a guard does not run, and nothing is called', async () => {
  const unavailable = { ...sandbox, spawn: async () => Promise.reject(refusedToStart()) }
  const [outcome] = await run({ command: 'exit 0' }, {}, { sandbox: unavailable })

  expect(outcome).toMatchObject({ status: 'blocked', output: expect.stringContaining('was not run') })
})

test('a guard from outside of the project runs with what lies beside it', async () => {
  const folder = temporaryFolder()
  chmodSync(folder, 0o755)
  writeFileSync(join(folder, 'lib.sh'), 'echo from lib')
  writeFileSync(join(folder, 'guard.sh'), 'source "$(dirname "$0")/lib.sh"')
  const [outcome] = await run({ command: `bash ${join(folder, 'guard.sh')}` })

  expect(outcome).toMatchObject({ status: 'ok', output: 'from lib\n' })
})

test('a link out of the project, or a path that names the project itself, is refused when it is locked', async () => {
  const { root } = project({})
  symlinkSync('/etc/hostname', join(root, 'guard.sh'))
  const locking = (command: string) => lockHookFiles(policyWith({ command }), root)

  await expect(locking('./guard.sh')).rejects.toMatchObject({ code: 'HOOK_REFUSED' })
  await expect(locking(`${root}/guard.sh`)).rejects.toMatchObject({ code: 'HOOK_REFUSED' })
})

test('what is kept for hooks is removed with the agent', async () => {
  const { root, lock } = await guarded('pwd >&2; exit 2 # ./tooling/guard.sh')
  const { call, tools } = await lock({ base: root, worktree: root })
  const [folder = ''] = /\S*matrix-hooks-\w+/.exec(textOf(await call('echo', { value: 1 }))) ?? []
  expect(existsSync(folder)).toBe(true)
  await tools.close()

  expect(existsSync(folder)).toBe(false)
})

type Hook = NonNullable<Policy['hooks']['preToolUse']>[number]

function open(hooks: Policy['hooks'], place: Partial<HookPlace> = {}) {
  const opened = openHooks(hooks, {
    sandbox,
    worktree: undefined,
    cwd: '/somewhere',
    root: temporaryFolder(),
    ...place,
  })
  onTestFinished(() => opened.close())
  return opened
}

function run(hook: Hook, input = {}, place: Partial<HookPlace> = {}) {
  return open({ preToolUse: [hook] }, place).run({ trigger: 'preToolUse', tool, input })
}

function policyWith(hook: Hook): Policy {
  return {
    tools: ['*'],
    allowedTools: ['@scripted'],
    toolsSettings: {},
    resources: [],
    hooks: { preToolUse: [hook] },
  }
}

function withHook(hook: Hook) {
  return bootHarness({ policy: policyWith(hook), base: temporaryFolder(), poolOptions: { sandbox } })
}

/** A checkout of the user with these files, and a worktree of an agent with the same. */
function project(files: Record<string, string>): { root: string; worktree: string } {
  const [root, worktree] = [temporaryFolder(), temporaryFolder()]
  for (const folder of [root, worktree]) {
    chmodSync(folder, 0o755)
    for (const [name, text] of Object.entries({ ...files, '.git/HEAD': '' })) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text, { mode: 0o755 })
    }
  }
  return { root, worktree }
}

/** A project whose lock holds a guard that blocks, with a library beside it. */
async function guarded(command: string) {
  const folders = project({
    'tooling/guard.sh': '#!/bin/bash\nsource "$(dirname "$0")/lib.sh"\n',
    'tooling/lib.sh': 'echo "guarded by lib" >&2; exit 2\n',
  })
  const policy = policyWith({ command })
  const hook_files = await lockHookFiles(policy, folders.root)
  const tools = ['echo', 'silent', 'die', 'flood', 'env', 'change'].map((name) => surface(name))
  const manifest = manifestOf([scriptedServer()])
  const lock = (more: { base: string; worktree: string }) =>
    bootHarness({
      ...more,
      lock: { ...lockOf(manifest, { scripted: tools }), policy, hook_files },
      poolOptions: { sandbox },
    })
  return { ...folders, lock }
}

function refusedToStart(): MatrixError {
  return new MatrixError('SANDBOX_UNAVAILABLE', 'There is no sandbox.')
}

function countOf(command: string): number {
  const { stdout } = spawnSync('/bin/ps', ['-eo', 'args='], { encoding: 'utf8' })
  return stdout.split('\n').filter((line) => line.trim() === command).length
}
