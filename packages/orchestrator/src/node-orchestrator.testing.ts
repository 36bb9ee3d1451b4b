import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MockProvider, openMockProvider } from '@matrix/mock-provider'
import { type NodeOrchestratorOptions, openNodeOrchestrator } from './adapters/node-orchestrator.ts'
import type { Orchestrator, Resumed } from './operations.ts'

export type TestOrchestrator = {
  orchestrator: Orchestrator
  mock: MockProvider
  dataDirectory: string
  projectId: string
  rootId: string
  repository: string
  send(text: string): Promise<void>
  /** Ends it in order, lets something happen, and opens it again. */
  reopen(meanwhile: () => Promise<void>): Promise<{ orchestrator: Orchestrator; resumed: Resumed }>
  close(): Promise<void>
}

/** The real orchestrator with one small project, and a model that plays a script. */
export async function openTestOrchestrator(
  settings: Record<string, unknown> = {},
  options: Partial<NodeOrchestratorOptions> = {},
): Promise<TestOrchestrator> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'matrix-orchestrator-')))
  await chmod(home, 0o755)
  const repository = join(home, 'shop')
  const dataDirectory = join(home, 'data')
  await makeRepository(repository)
  await makeData(dataDirectory, settings)
  const mock = await openMockProvider({ stateless: true } as never)
  const open = () =>
    openNodeOrchestrator({
      dataDirectory,
      homeDirectory: home,
      mock: { baseUrl: mock.url, isDemo: () => false },
      ...options,
    })
  const orchestrator = await open()
  let current = orchestrator
  await orchestrator.resume()
  const body = { path: repository, setup: { choice: 'none' as const } }
  const project = await orchestrator.registerProject({ params: {}, query: {}, body })
  allowEverything(orchestrator, project.id)
  const params = { projectId: project.id, taskId: project.rootTaskId ?? '' }
  return {
    orchestrator,
    mock,
    dataDirectory,
    projectId: project.id,
    rootId: params.taskId,
    repository,
    async reopen(meanwhile) {
      await current.close()
      await meanwhile()
      current = await open()
      const resumed = await current.resume()
      allowEverything(current, project.id)
      return { orchestrator: current, resumed }
    },
    send: async (text) => void (await orchestrator.sendMessage({ params, query: {}, body: { text } })),
    async close() {
      await current.close()
      await mock.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}

function allowEverything(orchestrator: Orchestrator, projectId: string): void {
  orchestrator.subscribe((frame) => {
    if (frame.kind !== 'attention' || frame.attention.kind !== 'approval') return
    const { id, approval } = frame.attention
    void orchestrator.answerApproval({
      params: { projectId, approvalId: id },
      query: {},
      body: { decision: 'allow', scope: 'always', inputDigest: approval?.inputDigest ?? '' },
    })
  })
}

async function makeRepository(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'readme.md'), 'hello\n')
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder })
  git('init', '--quiet', '-b', 'trunk')
  git('config', 'user.name', 'Ada')
  git('config', 'user.email', 'ada@example.com')
  git('add', '--all')
  git('commit', '--quiet', '-m', 'first')
}

/** With the built-in tools alone: the others would be fetched. */
async function makeData(folder: string, settings: Record<string, unknown>): Promise<void> {
  await mkdir(join(folder, 'agents'), { recursive: true })
  const shipped = JSON.parse(await readFile(new URL('../../../agents/default.json', import.meta.url), 'utf8'))
  shipped.servers = shipped.servers.filter(({ alias }: { alias: string }) => alias === 'mxd')
  await writeFile(join(folder, 'agents/default.json'), JSON.stringify(shipped))
  await writeFile(join(folder, 'config.json'), JSON.stringify(settings), { mode: 0o600 })
}
