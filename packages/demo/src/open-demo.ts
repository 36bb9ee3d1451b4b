import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openMockProvider } from '@matrix/mock-provider'
import { type NodeOrchestratorOptions, type Orchestrator, openNodeOrchestrator } from '@matrix/orchestrator'
import { createSample } from './sample.ts'
import { buildStory, goal } from './story.ts'

type Prepare = NonNullable<NodeOrchestratorOptions['prepare']>

export type DemoOptions = NodeOrchestratorOptions & {
  dataDirectory: string
  /** How long the scripted model seems to think, and how fast it types. */
  pace?: { thinkMs: number; typeMs: number }
  /** Whether the story begins by itself. */
  begins?: boolean
}

/** Slow enough to be followed, quick enough not to be waited for. */
const watchable = { thinkMs: 1200, typeMs: 30 }

/**
 * The orchestrator with a sample project. While no key is configured its agents are played by the mock provider, and their
 * story begins by itself; with one, the same goal waits for a person to send it.
 */
export async function openDemo({ pace = watchable, begins = true, ...options }: DemoOptions): Promise<Orchestrator> {
  const mock = await openMockProvider({ playbook: buildStory(pace), forgetful: true })
  const folder = join(options.dataDirectory, 'demo')
  const isDemo = ({ path }: { path: string }) => path.startsWith(`${folder}/`)
  try {
    const orchestrator = await openNodeOrchestrator({
      ...options,
      // Whoever brings a repository of their own is told that a key is missing, not what a script has to say about it.
      mock: { baseUrl: mock.url, isDemo, plays: isDemo },
      prepare: (parts) => prepareSample(folder, parts),
    })
    return {
      ...orchestrator,
      async resume() {
        const resumed = await orchestrator.resume()
        if (begins) await beginStory(orchestrator)
        return resumed
      },
      async close() {
        await orchestrator.close()
        await mock.close()
      },
    }
  } catch (error) {
    await mock.close()
    throw error
  }
}

/** Only where there is nothing else: nobody's own list of projects grows by one they did not ask for. */
async function prepareSample(folder: string, { registry, config, decisionsOf }: Parameters<Prepare>[0]): Promise<void> {
  if (registry.list().length > 0) return
  const path = await createSample(folder)
  const project = await registry.register({ path, name: 'tally' })
  // Matrix's own tools are all it needs, and the script it is set up with is ours.
  await config.set('local', 'agent', 'solo', project)
  const script = await readFile(join(path, '.mxd/hooks/setup_worktree.sh'), 'utf8')
  const sha256 = createHash('sha256').update(script).digest('hex')
  const decidedAt = new Date().toISOString()
  await decisionsOf(project.id).keep({ choice: 'script', script, sha256, files: [], seen: sha256, decidedAt })
}

/** The id makes it happen once, however often the daemon is started. */
async function beginStory(orchestrator: Orchestrator): Promise<void> {
  if (orchestrator.provider().kind !== 'mock') return
  const projects = await orchestrator.listProjects({ params: {}, query: {}, body: undefined })
  for (const { id: projectId, isDemo, rootTaskId } of projects) {
    if (!isDemo || !rootTaskId) continue
    const body = { text: goal, requestId: 'demo-goal' }
    await orchestrator.sendMessage({ params: { projectId, taskId: rootTaskId }, query: {}, body })
  }
}
