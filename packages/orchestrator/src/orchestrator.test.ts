import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MockProvider, openMockProvider } from '@matrix/mock-provider'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openNodeOrchestrator } from './adapters/node-orchestrator.ts'
import type { Orchestrator } from './operations.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let home: string
let repository: string
let mock: MockProvider
let orchestrator: Orchestrator
let projectId: string
let rootId: string

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'matrix-orchestrator-')))
  await chmod(home, 0o755)
  process.env.HOME = home
  repository = join(home, 'shop')
  await mkdir(join(repository, '.mxd/hooks'), { recursive: true })
  await writeFile(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.com\n')
  await writeFile(join(repository, 'readme.md'), 'hello\n')
  await writeFile(join(repository, '.mxd/hooks/setup_worktree.sh'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  git('init', '--quiet', '-b', 'trunk')
  git('add', '--all')
  git('commit', '--quiet', '-m', 'first')
  const data = join(home, 'data')
  await mkdir(join(data, 'agents'), { recursive: true })
  const shipped = JSON.parse(await readFile(new URL('../../../agents/default.json', import.meta.url), 'utf8'))
  shipped.servers = shipped.servers.filter(({ alias }: { alias: string }) => alias === 'mxd')
  await writeFile(join(data, 'agents/default.json'), JSON.stringify(shipped))
  mock = await openMockProvider({ stateless: true } as never)
  orchestrator = await openNodeOrchestrator({
    dataDirectory: data,
    mock: { baseUrl: mock.url, isDemo: () => false },
  })
  const project = await orchestrator.registerProject({ params: {}, query: {}, body: { path: repository } })
  projectId = project.id
  rootId = project.rootTaskId ?? ''
})
afterEach(async () => {
  await orchestrator.close()
  await mock.close()
  await rm(home, { recursive: true, force: true })
})

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: repository, encoding: 'utf8' })
}

test('a goal becomes sub tasks that work, commit, are merged and end', async () => {
  orchestrator.subscribe((frame) => {
    if (frame.kind === 'attention' && frame.attention.kind === 'approval')
      void orchestrator.answerApproval({
        params: { projectId, approvalId: frame.attention.id },
        query: {},
        body: { decision: 'allow', scope: 'always', inputDigest: frame.attention.approval?.inputDigest ?? '' },
      })
  })
  mock.play({
    match: 'Write a greeting',
    turns: [
      {
        toolCalls: [{ name: 'mcp__mxd__create_task', input: { title: 'Greeter', description: 'Write greeting.txt' } }],
      },
      {
        capture: { id: { from: 'toolResults', pattern: 'Created task (\\w+)' } },
        toolCalls: [{ name: 'mcp__mxd__send_message', input: { taskId: '{{id}}', content: 'Go' } }],
      },
      { toolCalls: [{ name: 'mcp__mxd__yield' }] },
      { toolCalls: [{ name: 'mcp__mxd__merge_task', input: { taskId: '{{id}}' } }] },
      {
        assert: { toolResults: [/Merged as/] },
        toolCalls: [{ name: 'mcp__mxd__close_task', input: { taskId: '{{id}}' } }],
      },
      { toolCalls: [{ name: 'mcp__mxd__done', input: { status: 'passed', summary: 'Greeted.' } }] },
    ],
  })
  mock.play({
    match: 'Greeter',
    turns: [
      { toolCalls: [{ name: 'mcp__mxd__bash', input: { command: 'echo hello > greeting.txt && git log --oneline' } }] },
      {
        assert: { toolResults: [/first/] },
        toolCalls: [{ name: 'mcp__mxd__commit', input: { message: 'feat: a greeting' } }],
      },
      {
        assert: { toolResults: [/Committed/] },
        toolCalls: [{ name: 'mcp__mxd__done', input: { status: 'passed', summary: 'Wrote it.' } }],
      },
    ],
  })
  await orchestrator.sendMessage({
    params: { projectId, taskId: rootId },
    query: {},
    body: { text: 'Write a greeting' },
  })
  await vi.waitFor(
    async () => {
      const root = await orchestrator.getTask({ params: { projectId, taskId: rootId }, query: {}, body: undefined })
      expect(root.status).toBe('passed')
    },
    { timeout: 50_000, interval: 100 },
  )
  mock.verify()
  const root = await orchestrator.getTask({ params: { projectId, taskId: rootId }, query: {}, body: undefined })
  expect(git('show', `${root.branch}:greeting.txt`)).toBe('hello\n')
  const tasks = await orchestrator.listTasks({ params: { projectId }, query: {}, body: undefined })
  expect(tasks.map(({ title, status }) => [title, status])).toEqual([
    ['shop', 'passed'],
    ['Greeter', 'closed'],
  ])
})
