import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openMockProvider } from '@matrix/mock-provider'
import { expect, onTestFinished, test, vi } from 'vitest'
import { folderWith, matrix, matrixBin } from '../matrix-process.testing.ts'
import { typeInto } from '../typing.testing.ts'

const seconds = 120_000
const yields = { toolCalls: [{ name: 'mcp__mxd__yield' }] }

test('from a clone to the first agent at work: three commands and one question, typed in a terminal', {
  timeout: seconds,
}, async () => {
  const { origin, env, home, asked } = await machine({ 'package.json': '{"scripts":{"test":"node --test"}}' })
  const checkout = join(home, 'shop')
  const questions: string[] = []
  const commands: string[][] = [
    ['git', 'clone', '--quiet', origin, checkout],
    [process.execPath, matrixBin, 'init', '--port', '0'],
    [process.execPath, matrixBin, 'send', 'root', 'Say hello'],
  ]
  for (const [index, command] of commands.entries()) {
    const answers = [{ after: /\[Enter\] yes[^\n]*: $/, keys: '\r' }]
    const { code, text } = await typeInto(command, answers, { cwd: index === 0 ? home : checkout, env })
    questions.push(...(text.match(/\? \[Enter\][^\n\r]*/g) ?? []))
    expect([code, text]).toEqual([0, expect.anything()])
  }
  await vi.waitFor(() => expect(asked()).toBeGreaterThan(0), { timeout: 60_000 })

  expect(commands).toHaveLength(3)
  expect(questions).toHaveLength(1)
  expect(execFileSync('git', ['status', '--porcelain'], { cwd: checkout, encoding: 'utf8' })).toBe('')
})

test('the question shows the script that will run, and no line is wider than the terminal', {
  timeout: seconds,
}, async () => {
  const { origin, env } = await machine({
    'package.json': '{"dependencies":{"a":"1"}}',
    'AGENTS.md': '# How we work\n',
    'src/index.ts': '',
  })
  const init = [process.execPath, matrixBin, 'init', '--port', '0']
  const none = await typeInto(init, [{ after: /nothing is needed: $/, keys: 'n\r' }], { cwd: origin, env })
  const kept = await typeInto(init, [{ after: /the proposal: $/, keys: '\r' }], { cwd: origin, env })
  const other = [
    { after: /the proposal: $/, keys: 'p\r' },
    { after: /nothing is needed: $/, keys: '\r' },
  ]
  const changed = await typeInto(init, other, { cwd: origin, env })

  expect(none.text).toContain('npm install --no-save --no-package-lock')
  expect(none.text).toMatch(/Found {4}TypeScript · npm \(package\.json\)/)
  expect(none.text).toMatch(/Reads {4}AGENTS\.md/)
  expect(none.text).toContain('nothing is needed')
  expect(kept.text).toContain('as decided before')
  expect(changed.text).toMatch(/the script runs in every new worktree/)
  for (const { text } of [none, kept, changed])
    for (const line of plain(text).split(/\r?\n/)) expect(line.length, line).toBeLessThanOrEqual(80)
})

test('an edited script is shown again before it is approved', { timeout: seconds }, async () => {
  const { origin, env, home } = await machine({ 'package.json': '{"dependencies":{"a":"1"}}' })
  const editor = join(home, 'editor')
  writeFileSync(editor, '#!/bin/sh\nprintf "echo edited\\n" > "$1"\n', { mode: 0o755 })
  const typed = [
    { after: /nothing is needed: $/, keys: 'e\r' },
    { after: /│[^│]*echo edited[\s\S]*nothing is needed: $/, keys: '\r' },
  ]
  const init = [process.execPath, matrixBin, 'init', '--port', '0']
  expect(await typeInto(init, typed, { cwd: origin, env: { ...env, EDITOR: editor } })).toMatchObject({ code: 0 })

  const { setup } = JSON.parse((await matrix(['init', '--json'], { cwd: origin, env })).stdout)
  expect(setup.decision).toMatchObject({ choice: 'script', script: 'echo edited\n' })
})

test('without a terminal it says what would be asked and how to answer, and flags answer it', {
  timeout: seconds,
}, async () => {
  const { origin, env } = await machine({ 'package.json': '{"dependencies":{"a":"1"}}' })
  const run = (...args: string[]) => matrix(['init', '--port', '0', ...args], { cwd: origin, env })
  const asked = await run()

  expect(asked.code).toBe(2)
  expect(asked.stderr).toMatch(
    /npm install[\s\S]*no terminal to ask on[\s\S]*--yes[\s\S]*--setup none[\s\S]*--setup <file>/,
  )
  expect(await run('--setup', 'nowhere.sh')).toMatchObject({ code: 2, stderr: expect.stringContaining('nowhere.sh') })
  expect(await run('--setup', 'none')).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing is needed') })
  expect(await run('--yes')).toMatchObject({ code: 0, stdout: expect.stringContaining('as decided before') })
  expect(await run('--setup', 'auto')).toMatchObject({ code: 0, stdout: expect.stringContaining('the script runs') })
  expect(existsSync(join(origin, '.mxd'))).toBe(false)
})

test('what a setup reads of the checkout is shown, is kept with the decision, and is changed by a flag', {
  timeout: seconds,
}, async () => {
  const { origin, env } = await machine({ 'copy.sh': 'cp "$MXD_REPOSITORY/.env" .env\n' })
  const run = (...args: string[]) => matrix(['init', '--port', '0', '--yes', ...args], { cwd: origin, env })
  const named = await run('--setup', 'copy.sh')
  const more = await run('--setup-files', '.env,config/local.json')
  const outside = await run('--setup-files', '../.ssh/id_rsa')
  const { setup } = JSON.parse((await run('--json')).stdout)

  expect(named.stderr).toContain('It reads of your checkout: .env\n')
  expect(more.stderr).toContain('It reads of your checkout: .env, config/local.json\n')
  expect(outside.code).not.toBe(0)
  expect(setup.decision).toMatchObject({ files: ['.env', 'config/local.json'] })
})

test('without a model or a git identity the project is ready, and the exit code says that agents are not', {
  timeout: seconds,
}, async () => {
  const { origin, env } = await machine({ 'README.md': '' })
  const { ANTHROPIC_API_KEY: _key, ANTHROPIC_BASE_URL: _url, ...rest } = env
  const bare = { ...rest, MXD_DATA_DIR: realpathSync(folderWith()), HOME: realpathSync(folderWith()) }
  onTestFinished(async () => void (await matrix(['daemon', 'stop', '--force'], { env: bare })))
  const { code, stdout, stderr } = await matrix(['init', '--yes', '--port', '0'], { cwd: origin, env: bare })

  expect(code).toBe(1)
  expect(stderr).toContain('not configured: matrix auth set')
  expect(stdout).toMatch(/git config --global user\.name/)
  const served = ['init', '--url', 'http://127.0.0.1:9/v1', '--model', 'qwen3', '--json']
  expect(JSON.parse((await matrix(served, { cwd: origin, env: bare })).stdout)).toMatchObject({
    provider: { kind: 'configured', model: 'qwen3' },
  })
})

/** A repository to clone, and everything that a user has: a home, a name, a model. */
async function machine(files: Record<string, string>) {
  const mock = await openMockProvider({ playbook: { stateless: true, conversations: [{ turns: [yields] }] } })
  onTestFinished(() => mock.close())
  const home = realpathSync(folderWith({ '.gitconfig': '[user]\n\tname = Ada\n\temail = ada@example.com\n' }))
  const origin = join(home, 'origin')
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(origin, name)), { recursive: true })
    writeFileSync(join(origin, name), text)
  }
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    TERM: 'xterm',
    MXD_DATA_DIR: join(home, 'data'),
    ANTHROPIC_API_KEY: 'sk-ant-played',
    ANTHROPIC_BASE_URL: mock.url,
  }
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '-A'],
    ['commit', '-qm', 'first'],
  ])
    execFileSync('git', args, { cwd: origin, env })
  onTestFinished(async () => void (await matrix(['daemon', 'stop', '--force'], { env })))
  return { origin, home, env, asked: () => mock.requests.length }
}

function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours of a terminal
  return text.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
}
