import type { DataStore } from '@matrix/event-store'
import type { Grant } from '@matrix/manifest'
import type { QueueMessage, TaskNode } from '@matrix/protocol'
import type { Frame, Problem } from '@matrix/protocol/http'
import type { Route } from '@matrix/provider-loop'
import type { TaskTree, Worktrees } from '@matrix/task-tree'
import type { Agent } from './agent.ts'
import type { OpenApproval } from './approvals.ts'
import type { AttentionList } from './attention.ts'
import type { Settings } from './config/config.ts'
import type { Trust } from './config/trust.ts'
import type { OpenForward } from './forwards.ts'
import type { HostAccess } from './host-access.ts'
import type { Instruction } from './instructions.ts'
import type { Ledger } from './ledger.ts'
import type { Limiter } from './limiter.ts'
import type { RoomWatch } from './room-watch.ts'
import type { SessionFacts } from './session-facts.ts'
import type { SessionLog } from './session-log.ts'
import type { SetupHost } from './setup/setup-host.ts'
import type { SkillShelf } from './skills/skill-shelf.ts'
import type { Telemetry } from './telemetry.ts'
import type { BackgroundCommand, ToolHost } from './tool-host.ts'
import type { Turns } from './turns.ts'
import type { World } from './world.ts'

export type Role = 'root' | 'task'

/** What an agent is told before anybody speaks to it. */
export type Prompts = {
  /** `maySplit` is false where the tree may grow no deeper. */
  system(role: Role, options: { maySplit: boolean; tools: readonly string[]; prompt?: string | undefined }): string
  /** Where a task works and what it is told first: read anew for a session that begins or was compacted. */
  header(about: {
    worktree: string
    task: TaskNode
    tools: readonly string[]
    /** What the agent's own file adds. */
    agent?: string | undefined
    skills: string
  }): Promise<string> | string
  /** The instruction files that agents in this worktree are given. */
  instructions?(worktree: string): Promise<Instruction[]>
}

/** Another project, as the sender of a message has to know it. */
export type Neighbour = {
  id: string
  name: string
  /** What its root agent may do; undefined where that cannot be told. */
  grant: Grant | undefined
  /** Whether the user has approved messages from this project to that one. */
  isApproved: boolean
  /** Whether the message is there already. */
  hasHeard: boolean
}

/** Words for another project, with who says them and what they may do. */
export type CrossMessage = Omit<
  Extract<QueueMessage, { source: 'cross_project' }>,
  'source' | 'fromProjectId' | 'fromProject'
>

/** Other projects, as the agents of this one see them. */
export type Neighbours = {
  list(): { id: string; name: string }[]
  find(projectId: string, messageId: string): Promise<Neighbour>
  /** Keeps the user's approval of messages from this project to that one. */
  approve(projectId: string): Promise<void>
  send(projectId: string, message: CrossMessage): Promise<void>
}

/** One open project, with everything its agents need. Only what is passed in here reaches the outside. */
export type ProjectContext = {
  readonly id: string
  readonly world: World
  readonly store: DataStore
  readonly log: SessionLog
  readonly facts: SessionFacts
  readonly tree: TaskTree<Agent>
  readonly worktrees: Worktrees
  readonly tools: ToolHost
  readonly hosts: HostAccess
  readonly prompts: Prompts
  readonly neighbours: Neighbours
  readonly ledger: Ledger
  readonly attention: AttentionList
  readonly trust: Trust
  /** Undefined where nobody watches. */
  readonly telemetry: Telemetry | undefined
  readonly modelCalls: Limiter
  readonly heavyTools: Limiter
  readonly agents: Map<string, Agent>
  /** Why the agent of a task cannot go on, or that a person stopped it. */
  readonly halted: Map<string, Halt>
  /** Lets those go on who were held up by a full disk. */
  readonly room: RoomWatch
  /** Commands that run in the background, by the id of the message that will tell of their end. */
  readonly processes: Map<string, BackgroundCommand & { taskId: string; startedAt: string }>
  /** Commands that have ended and whose end is being delivered, by the same id. */
  readonly endingProcesses: Set<string>
  /** Ports of sandboxes that the user reaches, by id. */
  readonly forwards: Map<string, OpenForward>
  /** Ends the wait for each open question. */
  readonly questionTimers: Map<string, () => void>
  /** Each call that a person is asked about, by the id of the request. */
  readonly approvals: Map<string, OpenApproval>
  readonly setup: SetupHost
  readonly skills: SkillShelf
  /** Whether the user is being asked about the setup: `settled` closes the question. */
  readonly setupQuestion: { asking: Promise<void> | undefined; settled: AbortController }
  /** Lets tasks resume that the setup had blocked. */
  setupDecided(): void
  /** What reaches a session does so one after the other. */
  readonly deliveries: Turns
  settings(): Promise<Settings>
  routes(role: Role): Promise<Route[]>
  emit(frame: Frame): void
  /** Says that a task looks different now. */
  touch(taskId: string): void
  /** Fires when the project is closed: no agent is launched any more, and nobody is asked anything. */
  readonly closing: AbortController
  readonly isClosing: boolean
}

export type Halt = { kind: 'stopped' } | { kind: 'blocked'; problem: Problem }

export function roleOf(task: TaskNode): Role {
  return task.parentId === null ? 'root' : 'task'
}

/** The nearest task above that has an agent of its own. */
export function taskAbove(ctx: ProjectContext, taskId: string): TaskNode | undefined {
  return ctx.tree.ancestors(taskId).find((task) => !task.folder)
}

/** Whoever has no manifest of its own has that of the task above; the first task of all has the default. */
export function resolveAgentNames(
  names: readonly (string | undefined)[],
  { root, child }: { root: string; child: string },
): string[] {
  return names.map((name, index) => {
    const own = names.slice(index, -1).find((each) => each !== undefined)
    return own ?? (index < names.length - 1 ? child : (name ?? root))
  })
}

/** Which manifests say what the agent of a task may do: its own, then those of the tasks above, nearest first. */
export function agentsAbove(ctx: ProjectContext, taskId: string): (string | undefined)[] {
  return [ctx.tree.get(taskId), ...ctx.tree.ancestors(taskId)].filter(({ folder }) => !folder).map(({ agent }) => agent)
}
