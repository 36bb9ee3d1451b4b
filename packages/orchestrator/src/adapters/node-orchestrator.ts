import { mkdir, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, relative, resolve, sep } from 'node:path'
import { openEventStore } from '@matrix/event-store'
import { builtinTools, MatrixError, orchestratorTools } from '@matrix/protocol'
import { openDefinitions, openRepository, openWorktrees, runGit } from '@matrix/task-tree'
import {
  dialUpstream,
  openApprovalFile,
  openPackageStore,
  openRedactor,
  openSandbox,
  openServerPool,
  readLimits,
  useUpstream,
} from '@matrix/tool-manager'
import { openAgentCatalog } from '../agent-catalog.ts'
import { type Config, checkRestrictions, openConfig, type Settings } from '../config/config.ts'
import { openTrust, type Trust } from '../config/trust.ts'
import { openAgreedServers } from '../config-servers.ts'
import { openDefinitionWords } from '../definition-words.ts'
import { openManifestCatalog } from '../manifest-catalog.ts'
import { createModelRoutes, findRootModel, openAdapters, withScript } from '../model-routes.ts'
import type { Orchestrator } from '../operations.ts'
import { type OrchestratorPorts, openOrchestrator } from '../orchestrator.ts'
import { type FoundRepository, openProjectRegistry, type Project, type ProjectRegistry } from '../project-registry.ts'
import { openServerApprovals } from '../server-approval.ts'
import { openSetupDecisions, type SetupDecisions } from '../setup/setup-decision.ts'
import type { SurroundingsFacts } from '../surroundings-text.ts'
import type { Telemetry } from '../telemetry.ts'
import type { World } from '../world.ts'
import { createAgentPin } from './agent-pin.ts'
import { boxMemory, boxPath, openMachineToolchains } from './box-surroundings.ts'
import { describeSurroundings } from './describe-surroundings.ts'
import { gitFoldersBeside } from './git-surroundings.ts'
import { proposeHosts } from './host-proposal.ts'
import { openNodePrompts } from './node-prompts.ts'
import { nodeWorld } from './node-world.ts'
import { openHomeKeeper } from './project-storage.ts'
import { findRegistryAddresses, registryHosts } from './registry-address.ts'
import { createSandboxGit } from './sandbox-git.ts'
import { adoptWorktree, createSandboxedTools, createServerStates } from './sandboxed-tools.ts'
import { createServerPin } from './server-pin.ts'
import { openSetupHost } from './setup-host.ts'
import { createSetupRunner } from './setup-runner.ts'
import { findOwnServer, findShippedAgents, findShippedServers } from './shipped-agents.ts'
import { openSkillFolders } from './skill-files.ts'
import { openSurroundings } from './surroundings.ts'

export type NodeOrchestratorOptions = {
  dataDirectory?: string
  /** Where the user's own instructions for agents lie; the home of this user when left out. */
  homeDirectory?: string
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
  prepare?(parts: Prepared): Promise<void>
  world?: World
  /** What a second process is told about this one. */
  note?: string
  /** Whether a person has agreed to run tools without a box where there can be none. */
  unboxedAgreed?: boolean
  /** Room on the disk that each project holds back, so that there is some to say why work stopped when it is full. */
  reserveBytes?: number
  log?(entry: { level: 'info' | 'warn' | 'error'; message: string } & Record<string, unknown>): void
}

/** What can be changed before any project is opened. */
export type Prepared = {
  registry: ProjectRegistry
  config: Config
  trust: Trust
  decisionsOf(projectId: string): SetupDecisions
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
  useUpstream()
  const dataDirectory = await makeDirectory(options.dataDirectory ?? defaultDataDirectory())
  const trust = openTrust(world, { dataDirectory })
  const config = openConfig(world, { dataDirectory, trust })
  const { settings } = await config.resolve()
  const catalog = openManifestCatalog(world, { dataDirectory, shippedDirectory: findShippedAgents(), trust })
  const shipped = await findShippedServers()
  const redactor = openRedactor()
  const adapters = openAdapters({ dial: dialUpstream() })
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
  const store = openPackageStore(options.packagesDirectory ?? join(dataDirectory, 'packages'), { sandbox })
  const closing = new AbortController()
  const toolchains = openMachineToolchains(dataDirectory)
  const homes = openHomeKeeper(sandbox, (message) => log({ level: 'warn', message }))
  const surroundings = (worktree: string) =>
    openSurroundings(worktree, { dataDirectory, toolchains, homes, isBoxing: sandbox.isBoxing, settings: settingsOf })
  const pool = openServerPool({
    sandbox,
    store,
    redactor,
    surroundings,
    hosts: (worktree) => hostsOf(worktree),
    onEvent(event) {
      states.observe(event)
      if ('error' in event) log({ level: 'warn', message: event.error.message, alias: event.alias })
    },
  })
  const telemetry = await openTelemetry(settings.telemetry, (message) => log({ level: 'warn', message }))
  const directoryOf = (projectId: string) => join(dataDirectory, 'projects', projectId)
  const registry = await openProjectRegistry(world, { dataDirectory, findRepository })
  const decisionsOf = (projectId: string) => openSetupDecisions(world, join(directoryOf(projectId), 'setup.json'))
  const sandboxState = () => ({
    isActive: sandbox.isBoxing,
    reason: sandbox.status.available ? null : sandbox.status.reason,
  })
  await options.prepare?.({ registry, config, trust, decisionsOf })

  /** A worktree is the place of one task of one project, and is named after both. */
  async function hostsOf(worktree: string | undefined): Promise<string[]> {
    const [projectId = '', folder, taskId] = relative(directoryOf(''), worktree ?? '').split(sep)
    const project = folder === 'worktrees' ? registry.list().find(({ id }) => id === projectId) : undefined
    if (!project || !taskId) return (await config.resolve()).settings.hosts
    return orchestrator.reachableHosts(projectId, taskId)
  }

  /** What the user has set for the project that a worktree belongs to. */
  async function settingsOf(worktree: string): Promise<Settings> {
    return (await config.resolve(projectOf(worktree))).settings
  }

  const projectOf = (worktree: string) => registry.list().find(({ id }) => worktree.startsWith(`${directoryOf(id)}/`))
  const partialClones = new Set<string>()

  const withMock = (current: typeof settings, project: Project): typeof settings =>
    mock && Object.keys(current.authGroups).length === 0 && (mock.plays?.(project) ?? true)
      ? withScript(current, mock.baseUrl)
      : current

  const { homeDirectory: home = homedir() } = options
  /** What is told to an agent of this worktree before its first command. */
  async function describe(worktree: string, tools: readonly string[]): Promise<SurroundingsFacts> {
    const { searchPath } = await toolchains.current()
    const mayReach = tools.includes(orchestratorTools.requestAccess)
    return describeSurroundings({
      hasShell: tools.includes(builtinTools.bash),
      isSandboxed: sandbox.isBoxing,
      searchPath: sandbox.isBoxing ? boxPath(searchPath) : (process.env.PATH ?? ''),
      hosts: sandbox.isBoxing ? (mayReach ? await hostsOf(worktree) : []) : undefined,
      mayAskForHosts: mayReach,
      limits: { memoryBytes: boxMemory(), processes: readLimits({ sideEffects: ['shell'] }).processes },
      isPartialClone: partialClones.has(projectOf(worktree)?.id ?? ''),
      now: world.clock.now(),
    })
  }

  const ports: OrchestratorPorts = {
    world,
    registry,
    config,
    trust,
    agents: openAgentCatalog({
      catalog,
      pin: createAgentPin({ sandbox, store, redactor, ownServer: () => findOwnServer(), signal: closing.signal }),
      defaultAgent: async (project) => (await config.resolve(project)).settings.agent,
    }),
    telemetry,
    directoryOf,
    openStore: (directory) =>
      openEventStore(directory, {
        durability: settings.durability,
        reserveBytes: options.reserveBytes ?? 0,
        ...(options.note && { note: options.note }),
      }),
    async openWorktrees(project, { branchesFor }) {
      const directory = join(directoryOf(project.id), 'worktrees')
      const git = sandbox.isBoxing
        ? createSandboxGit({ sandbox, surroundings, directory: gitFoldersBeside(directory) })
        : undefined
      const commitHooks = async () => (await config.resolve(project)).settings.commitHooks
      const repository = project.path
      const worktrees = await openWorktrees({ repository, directory, branchesFor, sandbox: git, commitHooks })
      if (worktrees.repository.isPartial) partialClones.add(project.id)
      return worktrees
    },
    findBaseBranch: (project) => findBaseBranch(project, directoryOf(project.id)),
    treeOptions: (project) => ({ definitions: openDefinitions(project.path) }),
    toolsOf(project, onAgreed) {
      const current = async () => (await config.resolve(project)).settings
      const onProblem = (error: unknown, about: string) =>
        log({ level: 'warn', message: error instanceof Error ? error.message : String(error), about })
      const servers = openServerApprovals({
        world,
        project,
        config,
        catalog,
        agreed: openAgreedServers(world, join(directoryOf(project.id), 'servers.lock.json')),
        pin: createServerPin({ sandbox, store, redactor, signal: closing.signal }),
        onAgreed,
        onProblem,
      })
      const approved = openApprovalFile(join(directoryOf(project.id), 'approved-definitions.json'))
      return createSandboxedTools(
        {
          pool,
          sandbox,
          files: world.files,
          home,
          dataDirectory,
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
          trusted: async () => [...(await current()).trustedSources, ...registryHosts(findRegistryAddresses())],
          toolTimeoutMs: async () => (await current()).toolTimeoutMs,
          always: openApprovalFile(join(directoryOf(project.id), 'approved-calls.json')),
          words: openDefinitionWords({ world, approved, onApproved: onAgreed, onProblem }),
          servers,
          shipped,
        },
        states,
      )
    },
    setupOf: (project) =>
      openSetupHost({
        checkout: project.path,
        decisions: decisionsOf(project.id),
        world,
        proposeHosts: () => proposeHosts(project.path),
        sandbox: sandboxState,
        run: createSetupRunner({
          sandbox,
          directory: join(directoryOf(project.id), 'setup'),
          surroundings,
          hosts: hostsOf,
          adopt: (worktree) => adoptWorktree(sandbox, worktree),
        }),
      }),
    skillFoldersOf: ({ id, path }) => openSkillFolders({ checkout: path, home, directory: directoryOf(id) }),
    promptsOf: ({ name, path }) =>
      openNodePrompts({ files: world.files, projectName: name, checkout: path, home, describe }),
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
    sandbox: sandboxState,
    isDemo: (project) => mock?.isDemo(project) ?? false,
    later: (work) => void setTimeout(work, frameMs),
    async close() {
      closing.abort()
      await pool.close()
      adapters.close()
    },
  }
  const orchestrator = await openOrchestrator(ports)
  return orchestrator
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
  // One question each: a path may have line breaks in it.
  const askPath = async (what: string) => {
    const { code, text } = await ask('rev-parse', '--path-format=absolute', what)
    return code === 0 ? text().replace(/\n$/, '') : ''
  }
  const root = await askPath('--show-toplevel')
  const gitDirectory = await askPath('--git-common-dir')
  if (!root || !gitDirectory) return undefined
  const first = await ask('rev-list', '--max-parents=0', 'HEAD')
  const firstCommit = first.code === 0 ? (first.text().trim().split('\n').at(-1) ?? null) : null
  return { root: await realpath(root), gitDirectory: await realpath(gitDirectory), firstCommit }
}

/** The branch that the user has checked out when the project begins; it is stored, and never guessed again. */
async function findBaseBranch({ path }: Project, directory: string): Promise<string> {
  const repository = await openRepository(path, { directory: join(directory, 'worktrees', '.matrix') })
  // Asked in the folder itself: each worktree of the user's has a branch of its own.
  const question = ['-C', path, 'symbolic-ref', '--short', '--quiet', 'HEAD']
  const { code, text } = await runGit(question, { codes: [0, 1, 128] })
  const branch = text().trim()
  if (code === 0 && branch !== '') {
    await repository.getBranch(branch)
    return branch
  }
  throw new MatrixError('REPOSITORY_UNUSABLE', `No branch is checked out in ${path}`, {
    hint: 'Check out the branch that the work should start from and return to.',
  })
}
