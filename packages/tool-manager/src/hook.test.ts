import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Policy } from '@matrix/manifest'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openHooks } from './hook.ts'
import { bootHarness, patience, temporaryFolder, textOf } from './scripted-server.testing.ts'

const tool = { server: 'scripted', tool: 'echo' }

test('a hook is told what happens as JSON on its input', async () => {
  const [outcome] = await run({ command: 'cat' }, { tool_name: '@scripted/echo', tool_input: { value: 1 } })

  expect(outcome?.status).toBe('ok')
  expect(JSON.parse(outcome?.output ?? '')).toMatchObject({
    hook_event_name: 'preToolUse',
    cwd: '/',
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
  const file = join(temporaryFolder(), 'pid')
  const [outcome] = await run({ command: `sleep 600 & echo $! > ${file}; sleep 600`, timeout_ms: 3000 })
  const pid = Number(readFileSync(file, 'utf8'))

  expect(outcome).toMatchObject({ status: 'failed', output: 'did not end within 3000 ms' })
  await expect.poll(() => isAlive(pid), patience).toBe(false)
})

test('more than its share of output is cut', async () => {
  const [outcome] = await run({ command: 'head -c 100000 /dev/zero | tr "\\0" x', max_output_size: 10 })

  expect(outcome?.output).toBe('xxxxxxxxxx ... truncated')
})

test('a good answer is remembered for as long as it may be, a bad one never', async () => {
  const folder = temporaryFolder()
  const counting = (code: number) => `echo x >> ${join(folder, String(code))}; exit ${code}`
  const hooks = openHooks(
    { preToolUse: [0, 1].map((code) => ({ command: counting(code), cache_ttl_seconds: 60 })) },
    { cwd: '/' },
  )
  for (let time = 0; time < 3; time += 1) await hooks.run({ trigger: 'preToolUse', tool })

  expect(readFileSync(join(folder, '0'), 'utf8')).toBe('x\n')
  expect(readFileSync(join(folder, '1'), 'utf8')).toBe('x\nx\nx\n')
})

test('a hook sees the prompt, and none of the daemon’s own environment', async () => {
  process.env.HOOK_CANARY = 'do-not-leak'
  const hooks = openHooks({ userPromptSubmit: [{ command: 'env' }] }, { cwd: '/' })
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

type Hook = NonNullable<Policy['hooks']['preToolUse']>[number]

function run(hook: Hook, input = {}) {
  return openHooks({ preToolUse: [hook] }, { cwd: '/' }).run({ trigger: 'preToolUse', tool, input })
}

function withHook(hook: Hook) {
  const policy: Policy = {
    tools: ['*'],
    allowedTools: ['@scripted'],
    toolsSettings: {},
    resources: [],
    hooks: { preToolUse: [hook] },
  }
  return bootHarness({ policy })
}

function isAlive(pid: number): boolean {
  const state = spawnSync('/bin/ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim()
  return state !== '' && !state.startsWith('Z')
}
