import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MockProvider, openMockProvider } from '@matrix/mock-provider'
import type { ProjectView, TaskView } from '@matrix/protocol/http'
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
  await mkdir(join(repository, '.mxd'), { recursive: true })
  await writeFile(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.com\n')
  await writeFile(join(repository, 'readme.md'), 'hello\n')
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
  const project = await orchestrator.registerProject({
    params: {},
    query: {},
    body: { path: repository, setup: { choice: 'none' } },
  })
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

/** Stands in for a person who agrees to everything. */
function agree(): void {
  orchestrator.subscribe((frame) => {
    if (frame.kind === 'attention' && frame.attention.kind === 'approval')
      void orchestrator.answerApproval({
        params: { projectId, approvalId: frame.attention.id },
        query: {},
        body: { decision: 'allow', scope: 'always', inputDigest: frame.attention.approval?.inputDigest ?? '' },
      })
  })
}

function send(text: string): Promise<unknown> {
  return orchestrator.sendMessage({ params: { projectId, taskId: rootId }, query: {}, body: { text } })
}

/** The root task, once it is as it should be. */
async function waitFor(isReached: (task: TaskView) => boolean): Promise<TaskView> {
  return vi.waitFor(
    async () => {
      const task = await orchestrator.getTask({ params: { projectId, taskId: rootId }, query: {}, body: undefined })
      expect(isReached(task)).toBe(true)
      return task
    },
    { timeout: 50_000, interval: 50 },
  )
}

test('a memory that links to a file of the user is not read, and nobody is told what stands there', async () => {
  agree()
  await writeFile(join(home, 'key'), 'SECRET KEY')
  await symlink(join(home, 'key'), join(repository, '.mxd/memory.md'))
  git('add', '--all')
  git('commit', '--quiet', '-m', 'memory')
  await send('Hello')
  const { problem } = await waitFor(({ activity }) => activity === 'blocked')

  expect(problem?.message).toContain('memory.md is not read: a link leads out of')
  expect(await readFile(join(home, `data/projects/${projectId}/sessions/${rootId}.jsonl`), 'utf8')).not.toContain(
    'SECRET',
  )
})

test('a goal becomes sub tasks that work, commit, are merged and end', async () => {
  agree()
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
  const figures: ProjectView[] = []
  orchestrator.subscribe((frame) => frame.kind === 'project' && figures.push(frame.project))
  await send('Write a greeting')
  const root = await waitFor(({ status }) => status === 'passed')
  mock.verify()
  await vi.waitFor(() =>
    expect(figures.at(-1)).toMatchObject({ agents: { live: 0, working: 0 }, costUsd: root.treeCostUsd }),
  )
  expect(git('show', `${root.branch}:greeting.txt`)).toBe('hello\n')
  const tasks = await orchestrator.listTasks({ params: { projectId }, query: {}, body: undefined })
  expect(tasks.map(({ title, status }) => [title, status])).toEqual([
    ['shop', 'passed'],
    ['Greeter', 'closed'],
  ])
  const [review] = await orchestrator.listAttention({ params: {}, query: {}, body: undefined })
  expect(review).toMatchObject({ kind: 'review', text: '1 file changed (+1 −0), ready to be merged into trunk.' })
  const closed = { params: { projectId, taskId: tasks[1]?.id ?? '' }, query: { hunks: true }, body: undefined }
  await expect(orchestrator.getChanges(closed)).rejects.toThrow('"Greeter" is closed, and its branch is gone')
})

test('get_changes names files that run by themselves, and a user who merges has to accept them', async () => {
  agree()
  mock.play({
    match: 'Write a hook',
    turns: [
      { toolCalls: [{ name: 'mcp__mxd__bash', input: { command: 'echo evil > .envrc' } }] },
      { toolCalls: [{ name: 'mcp__mxd__commit', input: { message: 'feat: a hook' } }] },
      { toolCalls: [{ name: 'mcp__mxd__get_changes', input: { taskId: rootId } }] },
      {
        assert: { toolResults: [/! \.envrc: A shell can run this file/] },
        toolCalls: [{ name: 'mcp__mxd__done', input: { status: 'passed', summary: 'Wrote it.' } }],
      },
    ],
  })
  await send('Write a hook')
  await waitFor(({ status }) => status === 'passed')
  mock.verify()
  const params = { projectId, taskId: rootId }
  const { head, flagged } = await orchestrator.getChanges({ params, query: {}, body: undefined })
  expect(flagged.map(({ path }) => path)).toEqual(['.envrc'])
  const merge = (acceptFlagged: string[]) =>
    orchestrator.mergeTask({
      params,
      query: {},
      body: { how: 'merge', updateCheckout: true, expectedHead: head, acceptFlagged },
    })
  await expect(merge([])).rejects.toMatchObject({ code: 'MERGE_FLAGGED', message: expect.stringContaining('.envrc') })
  expect(await merge(['.envrc'])).toMatchObject({ outcome: 'merged' })
})

test('a worktree that was deleted by hand while its agent waited is made again from the branch', async () => {
  agree()
  mock.play({
    match: 'Say hello',
    turns: [
      { text: 'Hello.' },
      { toolCalls: [{ name: 'mcp__mxd__bash', input: { command: 'cat readme.md' } }] },
      { assert: { toolResults: [/hello/] }, text: 'Still here.' },
    ],
  })
  await send('Say hello')
  const root = await waitFor(({ activity }) => activity === 'waiting')
  await rm(root.worktreePath ?? '', { recursive: true })
  await send('Look again')
  await waitFor(({ activity, lastSeq }) => activity === 'waiting' && lastSeq > root.lastSeq + 6)
  mock.verify()
})
