import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connectLocal, findDaemon } from '@matrix/client/node'
import { type MockProvider, openMockProvider } from '@matrix/mock-provider'
import type { Attention, Frame } from '@matrix/protocol/http'
import { afterEach, beforeEach, expect, test } from 'vitest'

const program = fileURLToPath(new URL('../bin/matrix-daemon.js', import.meta.url))

let home: string
let data: string
let mock: MockProvider
let daemon: ChildProcess
let stop: AbortController

beforeEach(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'mxd-')))
  chmodSync(home, 0o755)
  data = join(home, 'data')
  mock = await openMockProvider({ stateless: true } as never)
  stop = new AbortController()
  makeRepository()
  configure()
})
afterEach(async () => {
  stop.abort()
  daemon.kill('SIGKILL')
  await mock.close()
  rmSync(home, { recursive: true, force: true })
})

test('an agent is spoken to, watched, lost with its daemon, and goes on before the same eyes', async () => {
  mock.play({
    match: 'Say hello',
    turns: [
      { text: 'Hello.', toolCalls: [{ name: 'mcp__mxd__yield' }] },
      { text: 'Still here.', delayMs: 1500, toolCalls: [{ name: 'mcp__mxd__yield' }] },
      { toolCalls: [{ name: 'mcp__mxd__done', input: { status: 'passed', summary: 'Said it.' } }] },
    ],
  })
  await startDaemon()
  const client = await connectLocal(data)
  const { id: projectId, rootTaskId } = await client.registerProject({
    body: { path: join(home, 'shop'), setup: { choice: 'none' } },
  })
  const taskId = rootTaskId ?? ''
  const frames: Frame[] = []
  const read = async () => {
    for await (const frame of client.events({ projectId, taskId, after: 0, signal: stop.signal })) {
      frames.push(frame)
      if (frame.kind === 'attention' && frame.attention.approval) await approve(frame.attention)
    }
  }
  const approve = ({ id: approvalId, approval }: Attention) =>
    client.answerApproval({
      projectId,
      approvalId,
      body: { decision: 'allow', scope: 'always', inputDigest: approval?.inputDigest ?? '' },
    })
  read().catch(() => {})
  await client.sendMessage({ projectId, taskId, body: { text: 'Say hello' } })
  await until(() => said(frames).includes('Hello.'))

  await client.sendMessage({ projectId, taskId, body: { text: 'And again' } })
  await until(() => typesOf(frames).filter((type) => type === 'messages_consumed').length === 2)
  daemon.kill('SIGKILL')
  await startDaemon()
  await until(() => said(frames).includes('Still here.'))
  const again = await connectLocal(data)
  await again.sendMessage({ projectId, taskId, body: { text: 'Then finish' } })
  await until(() => frames.some((frame) => frame.kind === 'task' && frame.task.status === 'passed'))

  const seqs = frames.flatMap((frame) => (frame.kind === 'event' ? [frame.seq] : []))
  const page = await again.readEvents({ projectId, taskId, limit: 1000 })
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  expect(seqs.length).toBe(page.lastSeq)
  expect(said(frames)).toEqual(['Hello.', 'Still here.'])
  expect(frames.some((frame) => frame.kind === 'resync' && frame.reason === 'restarted')).toBe(true)
}, 90_000)

async function startDaemon(): Promise<void> {
  const env = { PATH: process.env.PATH, HOME: home }
  daemon = spawn(process.execPath, [program, '--data-dir', data, '--port', '0'], { env, stdio: 'ignore' })
  for (const end = Date.now() + 30_000; Date.now() < end; ) {
    if ((await findDaemon(data))?.pid === daemon.pid && (await isReady())) return
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  throw new Error('the daemon is not ready')
}

function isReady(): Promise<boolean> {
  return connectLocal(data).then(
    (client) =>
      client.ready().then(
        ({ ready }) => ready,
        () => false,
      ),
    () => false,
  )
}

function makeRepository(): void {
  const repository = join(home, 'shop')
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: repository, env: { PATH: process.env.PATH, HOME: home } })
  mkdirSync(join(repository, '.mxd/hooks'), { recursive: true })
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.com\n')
  writeFileSync(join(repository, 'readme.md'), 'hello\n')
  git('init', '--quiet', '-b', 'trunk')
  git('add', '--all')
  git('commit', '--quiet', '-m', 'first')
}

/** Only the built-in tools, and the script in the place of a model. */
function configure(): void {
  mkdirSync(join(data, 'agents'), { recursive: true, mode: 0o700 })
  chmodSync(data, 0o700)
  const shipped = JSON.parse(readFileSync(new URL('../../../agents/default.json', import.meta.url), 'utf8'))
  shipped.servers = shipped.servers.filter(({ alias }: { alias: string }) => alias === 'mxd')
  writeFileSync(join(data, 'agents/default.json'), JSON.stringify(shipped))
  const authGroups = { mock: { provider: 'anthropic', anthropicApiKey: 'played', anthropicBaseUrl: mock.url } }
  writeFileSync(join(data, 'config.json'), JSON.stringify({ authGroups }), { mode: 0o600 })
}

function said(frames: Frame[]): unknown[] {
  return frames.flatMap((frame) =>
    frame.kind === 'event' && frame.event.type === 'assistant_text' && 'text' in frame.event ? [frame.event.text] : [],
  )
}

function typesOf(frames: Frame[]): string[] {
  return frames.flatMap((frame) => (frame.kind === 'event' ? [frame.event.type] : []))
}

async function until(condition: () => boolean, ms = 30_000): Promise<void> {
  for (const end = Date.now() + ms; !condition(); ) {
    if (Date.now() > end) throw new Error('what was waited for did not happen')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
