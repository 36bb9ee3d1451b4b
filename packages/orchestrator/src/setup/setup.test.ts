import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MockProvider, openMockProvider } from '@matrix/mock-provider'
import type { SetupChoice } from '@matrix/protocol/http'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openNodeOrchestrator } from '../adapters/node-orchestrator.ts'
import type { Orchestrator } from '../operations.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const done = { toolCalls: [{ name: 'mcp__mxd__done', input: { status: 'passed', summary: 'Done.' } }] }
const hook = '.mxd/hooks/setup_worktree.sh'
const none = { query: {}, body: undefined }
let home: string
let repository: string
let mock: MockProvider
let orchestrator: Orchestrator
let projectId: string
let taskId: string

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'matrix-setup-')))
  await chmod(home, 0o755)
  process.env.HOME = home
  repository = join(home, 'shop')
  await writeFile(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.com\n')
  await put('readme.md', 'hello\n')
  git('init', '--quiet', '-b', 'trunk')
  commit()
  mock = await openMockProvider({ stateless: true } as never)
})
afterEach(async () => {
  await orchestrator.close()
  await mock.close()
  await rm(home, { recursive: true, force: true })
})

test('a project without a decision asks in the inbox, a message says at once that its task waits, and deciding lets it go', async () => {
  await begin()
  mock.play({ match: 'Hello', turns: [done] })
  const [item] = await inbox()
  expect(item).toMatchObject({ kind: 'approval', approval: { input: { setup: 'nothing is needed' } } })

  expect(await say('Hello')).toMatchObject({ waitsFor: { code: 'SETUP_UNDECIDED' } })
  await vi.waitFor(async () => expect((await root()).activity).toBe('waiting'), soon)
  const view = await decide({ choice: 'none' })

  expect(view.decision).toMatchObject({ choice: 'none' })
  await vi.waitFor(async () => expect((await root()).status).toBe('passed'), soon)
  expect((await inbox()).map(({ kind }) => kind)).not.toContain('approval')
  expect(await say('Hello again')).toMatchObject({ waitsFor: null })
})

test('the script of the repository is proposed, approving it in the inbox runs exactly it, and another one asks again', async () => {
  await put(hook, '#!/bin/sh\r\necho one > made.txt\r\n')
  commit()
  await begin()
  const [item] = await inbox()
  expect(item?.approval?.input).toMatchObject({ script: '#!/bin/sh\necho one > made.txt\n' })
  await put(hook, '#!/bin/sh\necho two > made.txt\n')
  await approve(item?.id ?? '', item?.approval?.inputDigest ?? '')

  // What was approved is another script than the one that lies there by now.
  const two = { script: expect.stringContaining('two') }
  await vi.waitFor(async () => expect((await inbox())[0]?.approval?.input).toMatchObject(two), soon)
  expect((await setup()).decision).toBeNull()
  expect((await setup()).changed).toContain(hook)
  await decide({ choice: 'script', script: '#!/bin/sh\necho two > made.txt\n' })
  mock.play({ match: 'Hello', turns: [done] })
  await say('Hello')
  await vi.waitFor(async () => expect((await root()).status).toBe('passed'), soon)

  const { worktreePath } = await root()
  expect(await readFile(join(worktreePath ?? '', 'made.txt'), 'utf8')).toBe('two\n')
})

test('what a setup copies from the checkout is shown with it, approved with it, and all that it finds of the checkout', async () => {
  const script = '#!/bin/sh\ncp "$MXD_REPOSITORY/.env" .env.copy\nls -A "$MXD_REPOSITORY" > seen.txt\n'
  await put(hook, script)
  commit()
  await put('.env', 'TOKEN=1\n')
  await chmod(join(repository, '.env'), 0o600)
  await put('other.txt', 'not named\n')
  await begin()
  const [item] = await inbox()
  expect(item?.approval?.input).toMatchObject({ script, files: ['.env'] })
  expect(item?.text).toContain('It reads of your checkout: .env.')
  await approve(item?.id ?? '', item?.approval?.inputDigest ?? '')
  mock.play({ match: 'Hello', turns: [done] })
  await say('Hello')
  await vi.waitFor(async () => expect((await root()).status).toBe('passed'), soon)

  const { worktreePath = '' } = await root()
  expect(await readFile(join(worktreePath ?? '', '.env.copy'), 'utf8')).toBe('TOKEN=1\n')
  expect(await readFile(join(worktreePath ?? '', 'seen.txt'), 'utf8')).toBe('.env\n')
  expect((await setup()).decision).toMatchObject({ files: ['.env'] })
})

test('a file of the checkout that was not named is not there, and the failure says how to name it', async () => {
  await put('.env', 'TOKEN=1\n')
  const script = 'cp "$MXD_REPOSITORY/.env" .env\n'
  await begin({ choice: 'script', script })
  mock.play({ match: 'Hello', turns: [done] })
  await say('Hello')
  expect(await blocked()).toMatchObject({
    code: 'SETUP_FAILED',
    message: expect.stringContaining('Files of your checkout that were not named: .env.'),
    hint: expect.stringContaining('matrix init --setup-files .env'),
  })

  await decide({ choice: 'script', script, files: ['.env'] })
  await vi.waitFor(async () => expect((await root()).status).toBe('passed'), soon)
})

test.each(['link', 'folder/id_rsa'])('a link in the checkout that leads elsewhere is refused: %s', async (path) => {
  await mkdir(join(home, '.ssh'))
  await writeFile(join(home, '.ssh/id_rsa'), 'SECRET')
  await symlink(join(home, '.ssh/id_rsa'), join(repository, 'link'))
  await symlink(join(home, '.ssh'), join(repository, 'folder'))
  await begin({ choice: 'script', script: `cat $MXD_REPOSITORY/${path}\n`, files: [path] })
  await say('Hello')

  expect(await blocked()).toMatchObject({
    code: 'SETUP_FAILED',
    message: expect.stringMatching(/is a link|lies behind a link/),
  })
})

test('a setup that fails says how it ended with its last lines, and the task resumes when another one is decided', async () => {
  await begin({
    choice: 'script',
    script: 'head -c 100000000 /dev/zero | tr "\\0" "x"\necho no such registry >&2\nexit 3\n',
  })
  mock.play({ match: 'Hello', turns: [done] })
  await say('Hello')
  const problem = await blocked()
  expect(problem).toMatchObject({
    code: 'SETUP_FAILED',
    message: expect.stringMatching(/exit code 3.*no such registry/s),
  })
  expect(problem.message.length).toBeLessThan(6000)
  expect((await inbox())[0]).toMatchObject({ kind: 'failure', text: expect.stringContaining('no such registry') })

  await decide({ choice: 'script', script: 'true\n' })
  await vi.waitFor(async () => expect((await root()).status).toBe('passed'), soon)
})

test('a setup that hangs is ended after the time that the settings give it', async () => {
  await begin({ choice: 'script', script: 'echo working\nsleep 1000\n' })
  await orchestrator.setConfig({
    params: { layer: 'local', key: 'setupTimeoutMs' },
    query: { projectId },
    body: { value: 1000 },
  })
  await say('Hello')

  expect(await blocked()).toMatchObject({
    code: 'SETUP_FAILED',
    message: expect.stringMatching(/did not finish within 1s and was ended.*working/s),
  })
  expect(await orchestrator.listWorktrees({ params: { projectId }, ...none })).toEqual([])
})

test('a setup that deletes the files of its worktree is told so, and nothing of the repository is touched', async () => {
  await begin({ choice: 'script', script: 'rm -rf ./* .mxd || true\nrm -rf "$MXD_REPOSITORY" || true\n' })
  await say('Hello')

  expect(await blocked()).toMatchObject({ code: 'SETUP_FAILED', message: expect.stringContaining('deleted') })
  expect(await readFile(join(repository, 'readme.md'), 'utf8')).toBe('hello\n')
})

test('an agent runs the setup again, is told what it printed, and what it may not commit', async () => {
  await begin({ choice: 'script', script: 'set -x\ncat readme.md\necho made > left.txt\n' })
  mock.play({
    match: 'Hello',
    turns: [
      { toolCalls: [{ name: 'mcp__mxd__rerun_setup' }] },
      { assert: { toolResults: [/The setup passed\. Its last lines:\n.*hello/s] }, ...done },
    ],
  })
  await say('Hello')
  await vi.waitFor(async () => expect((await root()).status).toBe('passed'), soon)

  const { events } = await orchestrator.readEvents({
    params: { projectId, taskId },
    query: { limit: 100 },
    body: undefined,
  })
  const notices = events.flatMap(({ event }) => (event.type === 'notice' ? [String(event.text)] : []))
  expect(notices.at(-1)).toContain('keeps them out of commits: left.txt')
})

test('a script that cannot be run is refused when it is decided, and the repository’s own is left out with the reason', async () => {
  await put(hook, Buffer.from([0x23, 0xff, 0xfe, 0x0a]))
  commit()
  await begin()
  expect((await setup()).proposal).toEqual({
    choice: 'none',
    script: null,
    files: [],
    source: 'detected',
    notes: [`${hook} is not UTF-8 text: left out.`],
  })

  await expect(decide({ choice: 'script', script: '#!/bin/sh\n# nothing\n' })).rejects.toMatchObject({
    code: 'SETUP_INVALID',
  })
  await expect(decide({ choice: 'script', script: 'a\0b' })).rejects.toMatchObject({ code: 'SETUP_INVALID' })
  expect((await setup()).decision).toBeNull()
})

test('a manifest of the repository that the task works by is asked about, and approving it lets the task start by itself', async () => {
  const solo = JSON.parse(await readFile(new URL('../../../../agents/solo.json', import.meta.url), 'utf8'))
  await put('.mxd/agents/theirs.json', JSON.stringify({ ...solo, agent: 'matrix://agent/theirs' }))
  commit()
  await begin({ choice: 'none' })
  await orchestrator.setConfig({
    params: { layer: 'local', key: 'agent' },
    query: { projectId },
    body: { value: 'theirs' },
  })
  mock.play({ match: 'Hello', turns: [done] })
  await say('Hello')
  const item = await vi.waitFor(async () => {
    const [found] = (await inbox()).filter(({ kind }) => kind === 'approval')
    expect(found?.text).toContain('theirs')
    expect((await root()).activity).toBe('waiting')
    return found
  }, soon)
  await approve(item?.id ?? '', item?.approval?.inputDigest ?? '')

  await vi.waitFor(async () => expect((await root()).status).toBe('passed'), soon)
})

const soon = { timeout: 30_000, interval: 100 }

async function begin(setup?: SetupChoice): Promise<void> {
  const dataDirectory = join(home, 'data')
  await mkdir(dataDirectory)
  await writeFile(join(dataDirectory, 'config.json'), JSON.stringify({ agent: 'solo' }))
  orchestrator = await openNodeOrchestrator({ dataDirectory, mock: { baseUrl: mock.url, isDemo: () => false } })
  await orchestrator.resume()
  const body = { path: repository, ...(setup && { setup }) }
  const project = await orchestrator.registerProject({ params: {}, query: {}, body })
  projectId = project.id
  taskId = project.rootTaskId ?? ''
  if (!setup) await vi.waitFor(async () => expect(await inbox()).toHaveLength(1), soon)
}

async function put(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(join(repository, path, '..'), { recursive: true })
  await writeFile(join(repository, path), content)
}

function git(...args: string[]): void {
  execFileSync('git', args, { cwd: repository })
}

function commit(): void {
  git('add', '--all')
  git('commit', '--quiet', '-m', 'as it is')
}

const inbox = () => orchestrator.listAttention({ params: {}, ...none })
const root = () => orchestrator.getTask({ params: { projectId, taskId }, ...none })
const setup = () => orchestrator.getSetup({ params: { projectId }, ...none })
const decide = (body: SetupChoice) => orchestrator.decideSetup({ params: { projectId }, query: {}, body })
const say = (text: string) => orchestrator.sendMessage({ params: { projectId, taskId }, query: {}, body: { text } })

function approve(approvalId: string, inputDigest: string) {
  const body = { decision: 'allow', scope: 'always', inputDigest } as const
  return orchestrator.answerApproval({ params: { projectId, approvalId }, query: {}, body })
}

/** The problem that keeps the task from starting, once there is one. */
function blocked() {
  return vi.waitFor(async () => {
    const { activity, problem } = await root()
    expect(activity).toBe('blocked')
    return problem ?? expect.unreachable()
  }, soon)
}
