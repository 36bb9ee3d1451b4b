import { join } from 'node:path'
import type { DataStore } from '@matrix/event-store'
import { MatrixError, printableLine, queueMessage } from '@matrix/protocol'
import type { Attention, ConfigLayer, Frame, ListedHost, Problem, ProjectView } from '@matrix/protocol/http'
import type { Route } from '@matrix/provider-loop'
import type { TreeOptions, Worktrees } from '@matrix/task-tree'
import type { AgentCatalog } from './agent-catalog.ts'
import type { Config, ListPlace, Settings } from './config/config.ts'
import type { Trust } from './config/trust.ts'
import { deliverMessage } from './delivery.ts'
import { reachableHosts } from './flow-question.ts'
import { problemOf } from './halt.ts'
import { openHostAccess, parseHostEntry } from './host-access.ts'
import { createLimiter } from './limiter.ts'
import type { Operations, Orchestrator, Resumed } from './operations.ts'
import {
  type OpenProject,
  openProject,
  type ProjectPorts,
  viewBrokenProject,
  type WorktreeQuestions,
} from './project.ts'
import { agentsAbove, type CrossMessage, type Neighbour, type Prompts, type Role } from './project-context.ts'
import { projectOperations } from './project-operations.ts'
import type { ProjectRegistry, Project as Registered } from './project-registry.ts'
import { resumeProject } from './resume.ts'
import { grantOf } from './sender-rights.ts'
import { decisionOf } from './setup/setup.ts'
import type { SetupDecision } from './setup/setup-decision.ts'
import type { SetupHost } from './setup/setup-host.ts'
import { openSkillShelf, type SkillFolders } from './skills/skill-shelf.ts'
import { refreshAgents, resumeBlocked } from './stop.ts'
import { heedBudget } from './tasks.ts'
import type { Telemetry } from './telemetry.ts'
import type { ToolHost } from './tool-host.ts'
import { inTurn, type Turns } from './turns.ts'
import type { World } from './world.ts'

/** Everything that the orchestrator takes from outside. */
export type OrchestratorPorts = {
  world: World
  registry: ProjectRegistry
  config: Config
  trust: Trust
  agents: AgentCatalog
  /** Somebody who watches the agents; nobody, when left out. */
  telemetry?: Telemetry | undefined
  /** The project's own folder in the data directory. */
  directoryOf(projectId: string): string
  openStore(directory: string): Promise<DataStore>
  openWorktrees(project: Registered, about: WorktreeQuestions): Promise<Worktrees>
  findBaseBranch(project: Registered): Promise<string>
  treeOptions(project: Registered): TreeOptions
  /** `onAgreed` is called when the user has approved something that agents can use from then on. */
  toolsOf(project: Registered, onAgreed: () => void): ToolHost
  setupOf(project: Registered): SetupHost
  /** Where the skills of a project and of its user lie. */
  skillFoldersOf(project: Registered): SkillFolders
  promptsOf(project: Registered): Prompts
  routes(settings: Settings, role: Role, project: Registered): Promise<Route[]> | Route[]
  provider(settings: Settings): { kind: 'mock' | 'configured' | 'missing'; model: string | null }
  sandbox(): { isActive: boolean; reason: string | null }
  isDemo(project: Registered): boolean
  later(work: () => void): void
  /** Ends what is shared by all projects, when the last one is closed. */
  close(): Promise<void>
}

type Entry = { registered: Registered; open: OpenProject } | { registered: Registered; problem: Problem }

/** Opens every project that is registered. One that cannot be opened keeps its reason and harms no other. */
export async function openOrchestrator(ports: OrchestratorPorts): Promise<Orchestrator> {
  const { world, registry, config } = ports
  const entries = new Map<string, Entry>()
  /** A project is opened, moved and closed by one at a time: its files belong to whoever has it open. */
  const openings: Turns = new Map()
  const listeners = new Set<(frame: Frame) => void>()
  const { settings } = await config.resolve()
  const modelCalls = createLimiter(settings.maxConcurrentModelCalls)
  const heavyTools = createLimiter(settings.maxConcurrentHeavyTools)
  let provider = ports.provider(settings)

  function emit(frame: Frame): void {
    for (const listener of listeners) listener(frame)
  }

  const shown = new Map<string, string>()

  /** Sends a project's figures when they are not what was sent before. */
  function showProject(id: string): void {
    const entry = entries.get(id)
    if (!entry) return
    const project = viewOf(entry)
    const text = JSON.stringify(project)
    if (shown.get(id) === text) return
    shown.set(id, text)
    emit({ kind: 'project', project })
  }

  function portsOf(registered: Registered): ProjectPorts {
    const { id } = registered
    const current = async () => (await config.resolve({ id, path: registry.get(id).path })).settings
    return {
      world,
      directory: ports.directoryOf(id),
      openStore: ports.openStore,
      openWorktrees: (about) => ports.openWorktrees(registered, about),
      trust: ports.trust,
      telemetry: ports.telemetry,
      findBaseBranch: () => ports.findBaseBranch(registered),
      treeOptions: ports.treeOptions(registered),
      tools: ports.toolsOf(registered, () => refreshProject(id)),
      setup: ports.setupOf(registered),
      skills: openSkillShelf(world, {
        folders: ports.skillFoldersOf(registered),
        file: join(ports.directoryOf(id), 'skills.json'),
        onApproved: () => skillApproved(id),
      }),
      hosts: openHostAccess(world, { project: registered, config, directory: ports.directoryOf(id) }),
      prompts: {
        system: (role, options) => ports.promptsOf(registry.get(id)).system(role, options),
        header: (about) => ports.promptsOf(registry.get(id)).header(about),
        instructions: async (worktree) => (await ports.promptsOf(registry.get(id)).instructions?.(worktree)) ?? [],
      },
      neighbours: {
        list: () => registry.list().filter((other) => other.id !== id),
        find: (toProjectId, messageId) => findNeighbour(registry.get(id), toProjectId, messageId),
        approve: (toProjectId) =>
          config.addTo('messagesTo', toProjectId, { layer: 'local', project: registry.get(id) }),
        send: (toProjectId, message) => sendToProject(registry.get(id), toProjectId, message),
      },
      modelCalls,
      heavyTools,
      settings: current,
      routes: async (role) => ports.routes(await current(), role, registered),
      emit,
      onChanged: () => showProject(id),
      later: ports.later,
    }
  }

  function skillApproved(id: string): void {
    const entry = entries.get(id)
    if (entry && 'open' in entry)
      void resumeBlocked(entry.open.ctx, ['SKILL_UNAPPROVED', 'SKILL_UNKNOWN', 'SKILL_INVALID'])
  }

  function refreshProject(id: string): void {
    const entry = entries.get(id)
    if (entry && 'open' in entry) void refreshAgents(entry.open.ctx)
  }

  async function open(registered: Registered): Promise<Entry> {
    const entry = await openProject(registered, portsOf(registered)).then(
      (opened): Entry => ({ registered, open: opened }),
      (error): Entry => ({ registered, problem: problemOf(error) }),
    )
    entries.set(registered.id, entry)
    return entry
  }

  async function close(id: string): Promise<void> {
    const entry = entries.get(id)
    entries.delete(id)
    if (entry && 'open' in entry) await entry.open.close()
  }

  function contextOf(projectId: string) {
    const entry = entries.get(projectId)
    if (!entry) throw new MatrixError('PROJECT_UNKNOWN', `There is no project ${projectId}`)
    if ('open' in entry) return entry.open.ctx
    const { message, hint } = entry.problem
    throw new MatrixError('PROJECT_UNUSABLE', message, { hint })
  }

  async function findNeighbour(from: Registered, toProjectId: string, messageId: string): Promise<Neighbour> {
    const to = contextOf(toProjectId)
    const rootId = to.tree.root().id
    const { settings: ofSender } = await config.resolve(from)
    return {
      id: to.id,
      name: registry.get(to.id).name,
      // A manifest that cannot be read or is not approved says nothing of what its agent may do.
      grant: await grantOf(to, rootId).catch(() => undefined),
      isApproved: ofSender.messagesTo.includes(to.id),
      hasHeard: await to.log.hasMessage(rootId, messageId),
    }
  }

  async function sendToProject(from: Registered, toProjectId: string, message: CrossMessage): Promise<void> {
    const to = contextOf(toProjectId)
    const words = queueMessage.crossProject({ fromProjectId: from.id, fromProject: from.name, ...message })
    await deliverMessage(to, to.tree.root().id, words)
  }

  function viewOf(entry: Entry): ProjectView {
    const { registered } = entry
    return 'open' in entry
      ? entry.open.view(registered, ports.isDemo(registered))
      : viewBrokenProject(registered, entry.problem)
  }

  const contexts = () => [...entries.values()].flatMap((entry) => ('open' in entry ? [entry.open.ctx] : []))
  const chosen = (projectId: string | undefined) => (projectId === undefined ? contexts() : [contextOf(projectId)])

  async function reopen(id: string): Promise<ProjectView> {
    await close(id)
    const entry = await open(registry.get(id))
    if ('open' in entry) await resumeProject(entry.open.ctx)
    const project = viewOf(entry)
    emit({ kind: 'project', project })
    return project
  }

  const perProject = Object.fromEntries(
    Object.entries(projectOperations).map(([name, operation]) => [
      name,
      // Each operation takes exactly what its route describes; the table keeps the two together.
      async (request: { params: { projectId: string } }) =>
        operation(contextOf(request.params.projectId), request as never),
    ]),
  ) as unknown as Pick<Operations, keyof typeof projectOperations>

  const shared: Omit<Operations, keyof typeof projectOperations> = {
    listProjects: async () => [...entries.values()].map(viewOf),
    async registerProject({ body }) {
      const { setup: choice, ...given } = body
      const decision = choice && decisionOf(choice, choice.seen ?? null, new Date(world.clock.now()).toISOString())
      const registered = await registry.register(given)
      const { id } = registered
      if (decision) await keepFirst(ports.setupOf(registered), decision, choice?.seen)
      return inTurn(openings, id, () => reopen(id))
    },
    updateProject: ({ params, body }) =>
      inTurn(openings, params.projectId, async () => {
        const registered = await registry.update(params.projectId, body)
        const entry = entries.get(registered.id)
        if (!entry || 'problem' in entry || entry.registered.path !== registered.path) return reopen(registered.id)
        const renamed = { ...entry, registered }
        entries.set(registered.id, renamed)
        showProject(registered.id)
        return viewOf(renamed)
      }),
    deregisterProject: ({ params }) =>
      inTurn(openings, params.projectId, async () => {
        await registry.deregister(params.projectId)
        await close(params.projectId)
        emit({ kind: 'project_removed', projectId: params.projectId })
        return null
      }),
    listAttention: async ({ query }) => chosen(query.projectId).flatMap((ctx): Attention[] => ctx.attention.list()),
    async dismissAttention({ params }) {
      const owner = contexts().find((ctx) => ctx.attention.find(params.attentionId))
      const kind = owner?.attention.find(params.attentionId)?.kind
      if (!owner || !kind) throw new MatrixError('ATTENTION_UNKNOWN', 'Nothing of that kind waits any more')
      if (kind === 'approval' || kind === 'question')
        throw new MatrixError('REQUEST_INVALID', 'An agent waits for this', { hint: 'Answer it, or stop the task.' })
      owner.attention.remove(params.attentionId)
      return null
    },
    async search({ query }) {
      const { q, projectId, types, since, until, taskId, limit } = query
      const filter = {
        limit,
        ...(taskId !== undefined && { sessionId: taskId }),
        ...(types !== undefined && { types: types.split(',') as never[] }),
        ...(since !== undefined && { since }),
        ...(until !== undefined && { until }),
      }
      const results = await Promise.all(
        chosen(projectId).map(async (ctx) => ({ ctx, result: await ctx.store.index.search(q, filter) })),
      )
      const hits = results.flatMap(({ ctx, result }) =>
        result.hits.map(({ sessionId, ...hit }) => ({ projectId: ctx.id, taskId: sessionId, ...hit })),
      )
      hits.sort((a, b) => (a.ts < b.ts ? 1 : -1))
      return { hits: hits.slice(0, limit), complete: results.every(({ result }) => result.complete) }
    },
    async readCosts({ query }) {
      const by = query.by.split(',') as ('task' | 'day' | 'model' | 'session')[]
      const filter = {
        ...(query.taskId !== undefined && { taskId: query.taskId }),
        ...(query.since !== undefined && { since: query.since }),
        ...(query.until !== undefined && { until: query.until }),
      }
      return chosen(query.projectId).flatMap((ctx) => ctx.store.index.costs(by, filter))
    },
    listAgents: ({ query }) => ports.agents.list(projectFor(query.projectId)),
    proposeAgent: ({ body }) => ports.agents.propose(body, projectFor(body.projectId)),
    async addAgent({ body }) {
      const added = await ports.agents.add(body, projectFor(body.projectId))
      // Agents that wait take the new file when they next start.
      for (const ctx of chosen(body.projectId)) await refreshAgents(ctx)
      return added
    },
    readConfig: ({ query }) => config.view(projectFor(query.projectId)),
    async answerDrift({ params, body }) {
      const { projectId, alias } = params
      const ctx = contextOf(projectId)
      const { id: taskId } = ctx.tree.get(params.taskId)
      const view = () => projectOperations.listTools(ctx, { params: { projectId, taskId }, query: {}, body: undefined })
      if (!(await view()).servers.some((server) => server.alias === alias))
        throw new MatrixError('TOOL_UNKNOWN', `The task has no server "${alias}".`)
      if (body.decision === 'approve')
        await ctx.tools.approveDrift?.({ agents: agentsAbove(ctx, taskId), alias, surface: body.surface })
      // The same denial that a person would write into the settings, where they can take it back.
      else await config.addTo('deny', `@${alias}/*`, { layer: 'local', project: registry.get(projectId) })
      await configChanged('local', projectId)
      return view()
    },
    listHosts: ({ query }) => listHosts(query.projectId),
    async addHost({ query, body }) {
      await config.addTo('hosts', parseHostEntry(body.host, { anyHost: true }), hostPlace(query.projectId))
      await configChanged(hostPlace(query.projectId).layer, query.projectId)
      return listHosts(query.projectId)
    },
    async removeHost({ query }) {
      const wasThere = await config.removeFrom('hosts', query.host, hostPlace(query.projectId))
      if (!wasThere)
        throw new MatrixError('REQUEST_INVALID', `${printableLine(query.host)} is not in this list.`, {
          hint: 'List the hosts with matrix hosts.',
        })
      await configChanged(hostPlace(query.projectId).layer, query.projectId)
      return listHosts(query.projectId)
    },
    async setConfig({ params, query, body }) {
      await config.set(params.layer, params.key, body.value, projectFor(query.projectId))
      return configChanged(params.layer, query.projectId)
    },
    async unsetConfig({ params, query }) {
      await config.unset(params.layer, params.key, projectFor(query.projectId))
      return configChanged(params.layer, query.projectId)
    },
  }

  function hostPlace(projectId: string | undefined): ListPlace {
    return projectId === undefined ? { layer: 'global' } : { layer: 'local', project: registry.get(projectId) }
  }

  /** Those for all projects come first, and are named once. */
  async function listHosts(projectId: string | undefined): Promise<ListedHost[]> {
    const everywhere = (await config.resolve()).settings.hosts
    const all = (await config.resolve(projectFor(projectId))).settings.hosts
    return all.map((host) => ({ host, layer: everywhere.includes(host) ? 'global' : 'local' }))
  }

  function projectFor(projectId: string | undefined): { id: string; path: string } | undefined {
    return projectId === undefined ? undefined : registry.get(projectId)
  }

  /** What is set for all projects concerns those that were not named, too. */
  async function configChanged(layer: ConfigLayer, projectId: string | undefined) {
    const { settings: next } = await config.resolve()
    modelCalls.setLimit(next.maxConcurrentModelCalls)
    heavyTools.setLimit(next.maxConcurrentHeavyTools)
    provider = ports.provider(next)
    for (const ctx of layer === 'global' ? contexts() : chosen(projectId)) {
      // Asking for the settings puts them in force.
      await ctx.settings()
      await refreshAgents(ctx)
      if (provider.kind !== 'missing') await resumeBlocked(ctx, ['PROVIDER_MISSING'])
      // A host that was missing may be allowed now.
      await resumeBlocked(ctx, ['SETUP_FAILED'])
      await heedBudget(ctx, ctx.tree.root().id)
    }
    emit({ kind: 'config', projectId: layer === 'global' ? null : (projectId ?? null) })
    return config.view(projectFor(projectId))
  }

  for (const registered of registry.list()) await open(registered)

  return {
    ...perProject,
    ...shared,
    async resume() {
      const total: Resumed = {
        waiting: 0,
        continued: 0,
        ended: 0,
        problems: registry.problems.map(({ message }) => message),
      }
      for (const entry of entries.values()) {
        if ('problem' in entry) {
          total.problems.push(`${entry.registered.name}: ${entry.problem.message}`)
          continue
        }
        total.problems.push(...entry.open.notices)
        try {
          const { waiting, continued, ended, problems } = await resumeProject(entry.open.ctx)
          total.waiting += waiting
          total.continued += continued
          total.ended += ended
          total.problems.push(...problems)
        } catch (error) {
          total.problems.push(`${entry.registered.name}: ${problemOf(error).message}`)
        }
      }
      return total
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    agents() {
      const views = [...entries.values()].map(viewOf)
      return {
        live: views.reduce((sum, { agents }) => sum + agents.live, 0),
        working: views.reduce((sum, { agents }) => sum + agents.working, 0),
      }
    },
    reachableHosts: async (projectId, taskId) => reachableHosts(contextOf(projectId), taskId),
    sandbox: ports.sandbox,
    provider: () => provider,
    async close() {
      // One that is being opened is among those that wait for their turn.
      const ids = new Set([...entries.keys(), ...openings.keys()])
      await Promise.all([...ids].map((id) => inTurn(openings, id, () => close(id))))
      await ports.telemetry?.close()
      await ports.close()
    },
  }
}

/** For a project that is being added: the script that its repository has now is the one that was seen, unless another is named. */
async function keepFirst(setup: SetupHost, decision: SetupDecision, seen: string | null | undefined): Promise<void> {
  const current = seen === undefined ? ((await setup.findScript())?.sha256 ?? null) : seen
  await setup.decisions.keep({ ...decision, seen: current })
}
