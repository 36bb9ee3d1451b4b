import { mkdir, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { openEventStore } from '@matrix/event-store'
import { MatrixError } from '@matrix/protocol'
import { openDefinitions, openRepository, openWorktrees, runGit } from '@matrix/task-tree'
import { openApprovalFile, openPackageStore, openRedactor, openSandbox, openServerPool } from '@matrix/tool-manager'
import { type Config, checkRestrictions, openConfig, type Settings } from '../config/config.ts'
import { openTrust, type Trust } from '../config/trust.ts'
import { openAgreedServers } from '../config-servers.ts'
import { openManifestCatalog } from '../manifest-catalog.ts'
import { createModelRoutes, findRootModel, openAdapters, withScript } from '../model-routes.ts'
import type { Orchestrator } from '../operations.ts'
import { type OrchestratorPorts, openOrchestrator } from '../orchestrator.ts'
import { type FoundRepository, openProjectRegistry, type Project, type ProjectRegistry } from '../project-registry.ts'
import { buildSystemPrompt, prepareAgentMessage } from '../prompt.ts'
import { openServerApprovals } from '../server-approval.ts'
import type { Telemetry } from '../telemetry.ts'
import type { World } from '../world.ts'
import { gitSurroundings } from './git-surroundings.ts'
import { nodeWorld } from './node-world.ts'
import { createSandboxedTools, createServerStates } from './sandboxed-tools.ts'
import { createServerPin } from './server-pin.ts'
import { findShippedAgents } from './shipped-agents.ts'

export type NodeOrchestratorOptions = {
  dataDirectory?: string
  /** Where verified packages are kept; in the data directory when left out. */
  packagesDirectory?: string
  /** A model that plays a script, used while no key is configured, and the projects that were made for it. */
  mock?: {
    baseUrl: string
    isDemo(project: Project): boolean
    /** Whose agents it plays; everybody's when left out. */
    plays?(project: Project): boolean
  }
  /** Changes to make before any project is opened. */
  prepare?(parts: { registry: ProjectRegistry; config: Config; trust: Trust }): Promise<void>
  world?: World
  /** What a second process is told about this one. */
  note?: string
  /** Whether a person has agreed to run tools without a box where there can be none. */
  unboxedAgreed?: boolean
  /** Room on the disk that each project holds back, so that there is some to say why work stopped when it is full. */
  reserveBytes?: number
  log?(entry: { level: 'info' | 'warn' | 'error'; message: string } & Record<string, unknown>): void
}

/** Nobody sees a task change more often than this, however much its agents do. */
const frameMs = 100

/** Where Matrix keeps what is the user's and not a repository's. */
export function defaultDataDirectory(): string {
  return resolve(process.env.MXD_DATA_DIR ?? join(homedir(), '.mxd'))
}

/** The orchestrator of this machine: real files, real git, real tools, real models. */
export async function openNodeOrchestrator(options: NodeOrchestratorOptions = {}): Promise<Orchestrator> {
  const { world = nodeWorld(), mock, log = () => {} } = options
  const dataDirectory = await makeDirectory(options.dataDirectory ?? defaultDataDirectory())
  const trust = openTrust(world, { dataDirectory })
  const config = openConfig(world, { dataDirectory, trust })
  const { settings } = await config.resolve()
  const catalog = openManifestCatalog(world, { dataDirectory, shippedDirectory: findShippedAgents(), trust })
  const redactor = openRedactor()
  const adapters = openAdapters()
  const states = createServerStates()
  // What the mock says is ours, so it may run without a box where there can be none; what a model says may not.
  const isScripted = mock !== undefined && Object.keys(settings.authGroups).length === 0
  const sandbox = await openSandbox({
    mode: settings.sandbox,
    unboxedAgreed: options.unboxedAgreed === true || isScripted,
  })
  const refuseUnboxed = (current: typeof settings) => {
    const isModel = Object.keys(current.authGroups).length > 0
    if (!isScripted || !isModel || sandbox.isBoxing || options.unboxedAgreed) return
    throw new MatrixError('SANDBOX_UNAVAILABLE', 'What a model asks for is not run without a box.')
  }
  const store = openPackageStore(options.packagesDirectory ?? join(dataDirectory, 'packages'))
  const closing = new AbortController()
  const pool = openServerPool({
    sandbox,
    store,
    redactor,
    surroundings: gitSurroundings,
    onEvent(event) {
      states.observe(event)
      if ('error' in event) log({ level: 'warn', message: event.error.message, alias: event.alias })
    },
  })
  const telemetry = await openTelemetry(settings.telemetry, (message) => log({ level: 'warn', message }))
  const directoryOf = (projectId: string) => join(dataDirectory, 'projects', projectId)
  const registry = await openProjectRegistry(world, { dataDirectory, findRepository })
  await options.prepare?.({ registry, config, trust })

  const withMock = (current: typeof settings, project: Project): typeof settings =>
    mock && Object.keys(current.authGroups).length === 0 && (mock.plays?.(project) ?? true)
      ? withScript(current, mock.baseUrl)
      : current

  const ports: OrchestratorPorts = {
    world,
    registry,
    config,
    trust,
    telemetry,
    directoryOf,
    openStore: (directory) =>
      openEventStore(directory, {
        durability: settings.durability,
        reserveBytes: options.reserveBytes ?? 0,
        ...(options.note && { note: options.note }),
      }),
    openWorktrees: (project, approveSetup) =>
      openWorktrees({ repository: project.path, directory: join(directoryOf(project.id), 'worktrees'), approveSetup }),
    findBaseBranch: (project) => findBaseBranch(project, directoryOf(project.id)),
    treeOptions: (project) => ({ definitions: openDefinitions(project.path) }),
    toolsOf(project) {
      const current = async () => (await config.resolve(project)).settings
      const servers = openServerApprovals({
        world,
        project,
        config,
        catalog,
        agreed: openAgreedServers(world, join(directoryOf(project.id), 'servers.lock.json')),
        pin: createServerPin({ sandbox, store, redactor, signal: closing.signal }),
        onProblem: (error, about) =>
          log({ level: 'warn', message: error instanceof Error ? error.message : String(error), about }),
      })
      return createSandboxedTools(
        {
          pool,
          sandbox,
          async loadManifest(name) {
            const { agent } = await current()
            return catalog.get(name, { project, defaultAgent: agent })
          },
          async relock(name, lock) {
            const { agent } = await current()
            await catalog.relock(name, lock, { project, defaultAgent: agent })
          },
          async defaults() {
            const { agent, childAgent } = await current()
            return { root: agent, child: childAgent ?? agent }
          },
          async deny() {
            const { settings, problems } = await config.resolve(project)
            checkRestrictions(problems)
            return settings.deny
          },
          always: openApprovalFile(join(dataDirectory, 'approvals', 'calls.json')),
          servers,
        },
        states,
      )
    },
    promptsOf: ({ name }) => ({
      system: (role, { maySplit }) => buildSystemPrompt({ role, projectName: name, maySplit }),
      header: ({ worktree, memory, task }) => prepareAgentMessage({ worktree, memory, task }),
    }),
    routes(current, role, project) {
      refuseUnboxed(current)
      const routes = createModelRoutes(withMock(current, project), { adapters, secrets: redactor })
      return role === 'root' ? routes.root : routes.child
    },
    provider(current) {
      if (Object.keys(current.authGroups).length > 0)
        return { kind: 'configured', model: findRootModel(current) ?? null }
      return { kind: mock ? 'mock' : 'missing', model: null }
    },
    sandbox: () => ({ isActive: sandbox.isBoxing, reason: sandbox.status.available ? null : sandbox.status.reason }),
    isDemo: (project) => mock?.isDemo(project) ?? false,
    later: (work) => void setTimeout(work, frameMs),
    async close() {
      closing.abort()
      await pool.close()
      adapters.close()
    },
  }
  return openOrchestrator(ports)
}

/** OpenTelemetry takes time and memory to load, which is only spent where somebody wants it. */
async function openTelemetry(
  { otlpEndpoint }: Settings['telemetry'],
  onProblem: (message: string) => void,
): Promise<Telemetry | undefined> {
  if (otlpEndpoint === undefined) return undefined
  const { openOtlpTelemetry } = await import('./otlp-telemetry.ts')
  return openOtlpTelemetry({ endpoint: otlpEndpoint, onProblem })
}

async function makeDirectory(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  return realpath(path)
}

async function findRepository(path: string): Promise<FoundRepository | undefined> {
  const ask = (...args: string[]) => runGit(['-C', path, ...args], { codes: [0, 128] })
  const found = await ask('rev-parse', '--path-format=absolute', '--show-toplevel', '--git-common-dir')
  const [root, gitDirectory] = found.text().trimEnd().split('\n')
  if (found.code !== 0 || !root || !gitDirectory) return undefined
  const first = await ask('rev-list', '--max-parents=0', 'HEAD')
  const firstCommit = first.code === 0 ? (first.text().trim().split('\n').at(-1) ?? null) : null
  return { root: await realpath(root), gitDirectory: await realpath(gitDirectory), firstCommit }
}

/** The branch that the user has checked out when the project begins; it is stored, and never guessed again. */
async function findBaseBranch({ path }: Project, directory: string): Promise<string> {
  const repository = await openRepository(path, { directory: join(directory, 'worktrees', '.matrix') })
  const { code, text } = await repository.refs(['symbolic-ref', '--short', '--quiet', 'HEAD'], { codes: [0, 1, 128] })
  const branch = text().trim()
  if (code === 0 && branch !== '') {
    await repository.getBranch(branch)
    return branch
  }
  throw new MatrixError('REPOSITORY_UNUSABLE', `No branch is checked out in ${path}`, {
    hint: 'Check out the branch that the work should start from and return to.',
  })
}
