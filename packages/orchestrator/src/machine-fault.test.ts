import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MockProvider, openMockProvider } from '@matrix/mock-provider'
import type { SetupChoice } from '@matrix/protocol/http'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openNodeOrchestrator } from './adapters/node-orchestrator.ts'
import type { Orchestrator } from './operations.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const yields = { toolCalls: [{ name: 'mcp__mxd__yield' }] }
const none = { query: {}, body: undefined }
let home: string
let data: string
let repository: string
let mock: MockProvider
let orchestrator: Orchestrator
let project: { id: string; rootTaskId: string | null }

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'matrix-fault-')))
  await chmod(home, 0o755)
  process.env.HOME = home
  data = join(home, 'data')
  repository = join(home, 'shop')
  await mkdir(repository)
  await writeFile(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.com\n')
  await writeFile(join(repository, 'readme.md'), 'hello\n')
  mock = await openMockProvider({
    playbook: { stateless: true, conversations: [{ turns: [yields, yields, yields, yields] }] },
  })
  orchestrator = await openMachine()
})
afterEach(async () => {
  await orchestrator.close()
  await mock.close()
  await rm(home, { recursive: true, force: true })
})

test('a second process on the same data is refused, and told about the first', async () => {
  await begin()
  const second = await openMachine()
  const [listed] = await second.listProjects({ params: {}, ...none })

  expect(listed?.problem?.message).toContain(String(process.pid))
  await second.close()
  await expect(said('Still here?')).resolves.toBeUndefined()
})

test('a setup script that hangs is ended when its task is stopped, and leaves no half-made worktree', async () => {
  await begin({ choice: 'script', script: 'set -x\nsleep 1000\n' })
  await said('Hello')
  await vi.waitFor(async () => expect((await root()).doing).toMatch(/^Setup: sleep 1000, \d+s/), { timeout: 30_000 })
  const params = { projectId: project.id, taskId: project.rootTaskId ?? '' }
  await orchestrator.stopAgent({ params, ...none })

  expect(await root()).toMatchObject({ status: 'in_progress', activity: 'stopped' })
  expect(await orchestrator.listWorktrees({ params: { projectId: project.id }, ...none })).toEqual([])
})

function openMachine(): Promise<Orchestrator> {
  return openNodeOrchestrator({ dataDirectory: data, mock: { baseUrl: mock.url, isDemo: () => false } })
}

async function begin(setup: SetupChoice = { choice: 'none' }): Promise<void> {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: repository })
  git('init', '--quiet', '-b', 'trunk')
  git('add', '--all')
  git('commit', '--quiet', '-m', 'first')
  project = await orchestrator.registerProject({ params: {}, query: {}, body: { path: repository, setup } })
  const query = { projectId: project.id }
  await orchestrator.setConfig({ params: { layer: 'local', key: 'agent' }, query, body: { value: 'solo' } })
}

async function said(text: string): Promise<void> {
  const params = { projectId: project.id, taskId: project.rootTaskId ?? '' }
  await orchestrator.sendMessage({ params, query: {}, body: { text } })
}

function root() {
  return orchestrator.getTask({ params: { projectId: project.id, taskId: project.rootTaskId ?? '' }, ...none })
}
