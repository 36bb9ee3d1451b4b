import type { DataStore } from '@matrix/event-store'
import {
  type BudgetKind,
  budgetKinds,
  type DurableEvent,
  everyBudgetKind,
  findUntrusted,
  MatrixError,
  TaskId,
  type TaskNode,
} from '@matrix/protocol'
import type { Frame, Problem, ProjectView } from '@matrix/protocol/http'
import { foldSession, resumeStateOf } from '@matrix/protocol/session'
import type { Route } from '@matrix/provider-loop'
import {
  createTree,
  openTree,
  rebuildTree,
  type TaskTree,
  type TreeOptions,
  type Worktrees,
  type WorktreesOptions,
} from '@matrix/task-tree'
import type { Agent, EventOf } from './agent.ts'
import { createAttentionList } from './attention.ts'
import type { Settings } from './config/config.ts'
import type { Trust } from './config/trust.ts'
import type { HostAccess } from './host-access.ts'
import { interruptAgent } from './launch.ts'
import { type BudgetLimit, createLedger, removedFrom } from './ledger.ts'
import type { Limiter } from './limiter.ts'
import { labelEvents } from './origin.ts'
import type { Neighbours, ProjectContext, Prompts, Role } from './project-context.ts'
import type { Project as Registered } from './project-registry.ts'
import { createRoomWatch, goOnWithRoom, tasksWithoutRoom } from './room-watch.ts'
import { createSessionFacts } from './session-facts.ts'
import { openSessionLog } from './session-log.ts'
import type { SetupHost } from './setup/setup-host.ts'
import type { SkillShelf } from './skills/skill-shelf.ts'
import { resumeBlocked } from './stop.ts'
import { budgetsOf } from './task-budgets.ts'
import { createTaskFrames } from './task-frames.ts'
import { agentActivity, isBusy, viewTask } from './task-view.ts'
import type { Telemetry } from './telemetry.ts'
import type { ToolHost } from './tool-host.ts'
import { isoNow, type World } from './world.ts'

/** What a project is opened with. Everything that reaches outside is in here. */
export type ProjectPorts = {
  world: World
  /** The project's own folder in the data directory. */
  directory: string
  openStore(directory: string): Promise<DataStore>
  openWorktrees(about: WorktreeQuestions): Promise<Worktrees>
  /** Which branch work starts from, for a project that begins. */
  findBaseBranch(): Promise<string>
  treeOptions: TreeOptions
  tools: ToolHost
  hosts: HostAccess
  setup: SetupHost
  skills: SkillShelf
  prompts: Prompts
  trust: Trust
  telemetry: Telemetry | undefined
  neighbours: Neighbours
  modelCalls: Limiter
  heavyTools: Limiter
  settings(): Promise<Settings>
  routes(role: Role): Promise<Route[]>
  emit(frame: Frame): void
  /** Tasks look different now, and with them the project's own figures may. */
  onChanged(): void
  /** Does something a moment later, when everything that is happening now has happened. */
  later(work: () => void): void
}

/** What worktrees have to be told by the project. */
export type WorktreeQuestions = Required<Pick<WorktreesOptions, 'branchesFor'>>

export type OpenProject = {
  ctx: ProjectContext
  /** What had to be put right. */
  notices: string[]
  /** `registered` is what the registry says of it now. */
  view(registered: Registered, isDemo: boolean): ProjectView
  close(): Promise<void>
}

/** Opens the sessions, the tree and the worktrees of a project. No agent runs yet. */
export async function openProject(registered: Registered, ports: ProjectPorts): Promise<OpenProject> {
  const store = await ports.openStore(ports.directory)
  const notices: string[] = []
  try {
    const tree = await openOrRebuildTree(registered, ports, store, notices)
    const worktrees = await ports.openWorktrees({
      branchesFor: (taskId) => branchesNear(tree, taskId),
    })
    const ctx: ProjectContext = buildContext(registered, ports, { store, tree, worktrees })
    return {
      ctx,
      notices,
      view: (now, isDemo) => viewProject(now, ctx, isDemo),
      close: () => closeProject(ctx),
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

type Opened = { store: DataStore; tree: TaskTree<Agent>; worktrees: Worktrees }

function buildContext(registered: Registered, ports: ProjectPorts, { store, tree, worktrees }: Opened): ProjectContext {
  const { id } = registered
  const { emit } = ports
  let inForce: Budgets = {}
  const settings = async () => {
    const current = await ports.settings()
    inForce = current
    return current
  }
  const closing = new AbortController()
  const facts = createSessionFacts()
  const frames = createTaskFrames((taskIds) => {
    for (const task of taskIds.flatMap((taskId) => tree.find(taskId) ?? []))
      emit({ kind: 'task', projectId: id, task: viewTask(ctx, task) })
    ports.onChanged()
  }, ports.later)
  const log = openSessionLog(store, {
    owner: ports.world.newId(),
    label: (taskId, events) => labelEvents(tree, taskId, events),
    onStored(stored) {
      facts.observe(stored)
      emit({ kind: 'event', projectId: id, ...stored })
    },
  })
  const ledger = createLedger({
    limits: (taskId) => limitsOf(tree, taskId, inForce),
    below: (taskId) => (tree.find(taskId) ? tree.subtree(taskId).map((task) => task.id) : [taskId]),
    removed: (taskId) => removedFrom(tree.find(taskId)),
    onSpent: (taskId) => {
      for (const task of [tree.get(taskId), ...tree.ancestors(taskId)]) frames.touch(task.id)
    },
  })
  const attention = createAttentionList({
    onAdded(added) {
      emit({ kind: 'attention', attention: added })
      frames.touch(added.taskId)
    },
    onRemoved(removed) {
      emit({ kind: 'attention_over', projectId: id, id: removed.id })
      frames.touch(removed.taskId)
    },
  })
  const ctx: ProjectContext = {
    id,
    world: ports.world,
    store,
    log,
    facts,
    tree,
    worktrees,
    tools: ports.tools,
    hosts: ports.hosts,
    prompts: ports.prompts,
    trust: ports.trust,
    telemetry: ports.telemetry,
    neighbours: ports.neighbours,
    ledger,
    attention,
    modelCalls: ports.modelCalls,
    heavyTools: ports.heavyTools,
    agents: new Map(),
    halted: new Map(),
    room: createRoomWatch(ports.world.clock, {
      isNeeded: () => !closing.signal.aborted && tasksWithoutRoom(ctx).length > 0,
      hasRoom: () => store.reserve.hasRoom(),
      onRoom: () => goOnWithRoom(ctx),
    }),
    processes: new Map(),
    forwards: new Map(),
    endingProcesses: new Set(),
    questionTimers: new Map(),
    approvals: new Map(),
    setup: ports.setup,
    skills: ports.skills,
    setupQuestion: { asking: undefined, settled: new AbortController() },
    setupDecided: () => void resumeBlocked(ctx, ['SETUP_UNDECIDED', 'SETUP_FAILED']),
    deliveries: new Map(),
    settings,
    routes: ports.routes,
    emit,
    touch: frames.touch,
    closing,
    get isClosing() {
      return closing.signal.aborted
    },
  }
  return ctx
}

/** The branches that concern a task: the user's, that of the task above, and those of its sub tasks. */
function branchesNear(tree: TaskTree<Agent>, taskId: string): string[] {
  const task = tree.find(taskId)
  if (!task) return []
  const above = tree.ancestors(taskId).find(({ folder }) => !folder)
  const below = tree.subtree(taskId).filter(({ status }) => status !== 'closed')
  return [tree.root().baseBranch, above?.branch, ...below.map(({ branch }) => branch)].filter(
    (name) => !!name,
  ) as string[]
}

type Budgets = Partial<Pick<Settings, (typeof budgetKinds)[BudgetKind]['budget' | 'treeBudget']>>

/** A task's own budget covers what it has others do; the one from the settings is for each task by itself. */
function limitsOf(tree: TaskTree<Agent>, taskId: string, settings: Budgets): BudgetLimit[] {
  const task = tree.get(taskId)
  return everyBudgetKind.flatMap((kind) => {
    const { budget, treeBudget } = budgetKinds[kind]
    const limits: BudgetLimit[] = []
    const add = (owner: string, limit: number | undefined, counts: BudgetLimit['counts']) => {
      if (limit !== undefined) limits.push({ taskId: owner, kind, limit, counts })
    }
    if (task[budget] === undefined) add(task.id, settings[budget], 'own')
    for (const each of [task, ...tree.ancestors(task.id)]) add(each.id, each[budget], 'tree')
    add(tree.root().id, settings[treeBudget], 'tree')
    return limits
  })
}

function viewProject(registered: Registered, ctx: ProjectContext, isDemo: boolean): ProjectView {
  const root = ctx.tree.root()
  const agents = [...ctx.agents.values()]
  return {
    id: ctx.id,
    name: registered.name,
    path: registered.path,
    rootTaskId: root.id,
    baseBranch: root.baseBranch ?? null,
    problem: null,
    agents: {
      live: ctx.tree.list().filter(({ status, folder }) => status === 'in_progress' && !folder).length,
      working: agents.filter((agent) => isBusy(agentActivity(ctx, agent))).length,
    },
    costUsd: ctx.ledger.treeSpent(root.id).usd,
    isDemo,
    registeredAt: registered.registeredAt,
  }
}

/** A project that cannot be opened is shown with the reason, and the others are none the worse for it. */
export function viewBrokenProject(registered: Registered, problem: Problem): ProjectView {
  const { id, name, path, registeredAt } = registered
  const agents = { live: 0, working: 0 }
  return {
    id,
    name,
    path,
    registeredAt,
    problem,
    agents,
    rootTaskId: null,
    baseBranch: null,
    costUsd: 0,
    isDemo: false,
  }
}

/** Interrupts every agent so that it goes on where it was, and closes what is open. */
async function closeProject(ctx: ProjectContext): Promise<void> {
  ctx.closing.abort()
  for (const cancel of ctx.questionTimers.values()) cancel()
  ctx.room.end()
  await Promise.all([...ctx.agents.values()].map((agent) => interruptAgent(agent, 'shutdown')))
  await ctx.tree.close()
  await ctx.store.close()
}

const lostTree = ['TREE_MISSING', 'TREE_TRUNCATED', 'TREE_DAMAGED']

async function openOrRebuildTree(
  { name }: Registered,
  { world, directory, treeOptions, findBaseBranch }: ProjectPorts,
  store: DataStore,
  notices: string[],
): Promise<TaskTree<Agent>> {
  try {
    return await openTree<Agent>(directory, treeOptions)
  } catch (error) {
    if (!(error instanceof MatrixError) || !lostTree.includes(error.code)) throw error
    const sessions = await store.listSessions()
    const baseBranch = await findBaseBranch()
    if (sessions.length === 0 && error.code === 'TREE_MISSING')
      return createTree<Agent>(directory, { title: name, baseBranch }, treeOptions)
    const tasks = await tasksFromSessions(store, sessions, { name, baseBranch, now: isoNow(world), notices })
    if (tasks.length === 0) throw error
    notices.push(`${error.message}; ${tasks.length} tasks were rebuilt from their sessions.`)
    return rebuildTree<Agent>(directory, tasks, treeOptions)
  }
}

type Rebuilding = { name: string; baseBranch: string; now: string; notices: string[] }

/**
 * What sessions say about the tasks that they belong to, as far as they can be read. Of those that never started only the root is
 * among them; those whose sessions are damaged before their beginning are, because only what is in the tree can be repaired.
 */
async function tasksFromSessions(store: DataStore, sessions: string[], rebuilding: Rebuilding): Promise<TaskNode[]> {
  const tasks: TaskNode[] = []
  const nameless: string[] = []
  for (const sessionId of sessions) {
    const { events, damage } = await readUndamaged(store, sessionId)
    if (damage)
      rebuilding.notices.push(`${damage.message}; the tree knows of this session only what stands before that.`)
    const started = events.findLast(
      (event): event is EventOf<'task_started'> => event.type === 'task_started' && event.taskId === sessionId,
    )
    if (started) tasks.push(taskFromSession(started, events, rebuilding))
    else if (damage && TaskId.safeParse(sessionId).success) nameless.push(sessionId)
  }
  // No task is older than the root, and ids are sorted by their age.
  const parents = tasks.flatMap(({ parentId }) => parentId ?? [])
  const rootId = tasks.find(({ parentId }) => parentId === null)?.id ?? [...nameless, ...parents].toSorted()[0]
  if (rootId !== undefined && parents.includes(rootId) && !tasks.some(({ id }) => id === rootId)) nameless.push(rootId)
  for (const taskId of new Set(nameless)) {
    const isRoot = taskId === rootId
    const place = {
      title: isRoot ? '' : `Task ${taskId}`,
      branch: '',
      worktreePath: '',
      parentId: isRoot ? null : rootId,
    }
    tasks.push(taskFromSession({ type: 'task_started', taskId, ts: rebuilding.now, ...place }, [], rebuilding))
  }
  return tasks
}

async function readUndamaged(
  store: DataStore,
  sessionId: string,
): Promise<{ events: DurableEvent[]; damage?: MatrixError }> {
  const events: DurableEvent[] = []
  try {
    for await (const batch of store.read(sessionId)) for (const { event } of batch) events.push(event as DurableEvent)
    return { events }
  } catch (error) {
    // A disk that cannot be read now may be readable later: no tree is made from half of what is there.
    if (!(error instanceof MatrixError) || error.code !== 'SESSION_CORRUPT') throw error
    return { events, damage: error }
  }
}

function taskFromSession(
  started: EventOf<'task_started'>,
  events: DurableEvent[],
  { name, baseBranch }: Pick<Rebuilding, 'name' | 'baseBranch'>,
): TaskNode {
  const { taskId: id, ts, title, branch, worktreePath, parentId = null, description = '', agent, skills } = started
  const state = foldSession(events)
  const untrusted = findUntrusted(events)
  return {
    id,
    title: title || name,
    description,
    status:
      resumeStateOf(state) === 'done' ? (state.end?.exitReason === 'done_passed' ? 'passed' : 'failed') : 'in_progress',
    branch: branch || null,
    parentId,
    children: [],
    worktreePath: worktreePath || null,
    costUsd: 0,
    editedBy: 'agent',
    persistent: false,
    createdAt: ts,
    updatedAt: events.at(-1)?.ts ?? ts,
    ...(agent !== undefined && { agent }),
    ...(skills && { skills }),
    ...budgetsOf(started),
    ...(untrusted.length > 0 && { untrusted }),
    ...(parentId === null && { baseBranch }),
  }
}
