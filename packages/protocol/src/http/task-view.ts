import * as z from 'zod'
import { SpentView } from '../budget.ts'
import { TokenUsage } from '../event.ts'
import { UntrustedSource } from '../origin.ts'
import { QueueMessage } from '../queue-message.ts'
import { TaskId, TaskNode } from '../task.ts'
import { Problem } from './project.ts'

/**
 * What a task's agent is up to: `off` was never launched or has ended, `starting` is being given a worktree, `working` waits for
 * a model or a tool, `waiting` for a message or for a person who has to agree (which costs nothing), `stopped` was interrupted by a person, and `blocked` cannot
 * go on without one; `problem` says why.
 */
export const Activity = z.enum(['off', 'starting', 'working', 'waiting', 'stopped', 'blocked'])
export type Activity = z.infer<typeof Activity>

/** Why a person is needed. */
export const AttentionKind = z.enum(['approval', 'question', 'conflict', 'failure', 'budget', 'review'])
export type AttentionKind = z.infer<typeof AttentionKind>

/** A task as it is now: what is saved of it, and what its agent does. */
export const TaskView = TaskNode.extend({
  projectId: TaskId,
  depth: z.number().int(),
  activity: Activity,
  /** What the agent does at the moment, in a few words. */
  doing: z.string().nullable(),
  problem: Problem.nullable(),
  /** This task and everything below it. */
  treeCostUsd: z.number(),
  /** The same with tokens and minutes, and how many turns have an unknown cost. */
  treeSpent: SpentView,
  contextTokens: z.number().int().nullable(),
  contextWindow: z.number().int().nullable(),
  model: z.string().nullable(),
  /** Messages that wait to be consumed. */
  pendingMessages: z.number().int(),
  lastSeq: z.number().int(),
  lastAt: z.iso.datetime().nullable(),
  needs: z.array(AttentionKind),
})
export type TaskView = z.infer<typeof TaskView>

export const TaskDetail = TaskView.extend({
  agentName: z.string(),
  /** The branch that the work started from and returns to. */
  targetBranch: z.string().nullable(),
  pending: z.array(QueueMessage),
  usage: TokenUsage,
  /** The instruction files that its agent is given, and what was cut, removed or not read of each. */
  instructions: z
    .array(
      z.object({ path: z.string(), origin: z.enum(['home', 'repository', 'checkout']), notes: z.array(z.string()) }),
    )
    .optional(),
})
export type TaskDetail = z.infer<typeof TaskDetail>

/** Something that waits for a person, nested agents included. */
export const Attention = z.object({
  /** Stable: the same need has the same id until it is met. */
  id: z.string(),
  kind: AttentionKind,
  projectId: TaskId,
  taskId: TaskId,
  taskTitle: z.string(),
  text: z.string(),
  since: z.iso.datetime(),
  /** For a question: the answers that were offered. */
  options: z.array(z.string()).optional(),
  /** For an approval: what is to be approved. */
  approval: z
    .object({
      uri: z.string(),
      sideEffect: z.string(),
      input: z.unknown(),
      inputDigest: z.string(),
      reason: z.string(),
      expiresAt: z.iso.datetime(),
      /** For a host that commands cannot reach: `once` is for 10 minutes, `always` for the project. */
      host: z.string().optional(),
      /** Whether the user may allow the tool with any arguments, and not only with those that are shown. */
      mayAllowAny: z.literal(true).optional(),
      /** Which untrusted content was read before, and where it came from, if that is why the user is asked. */
      led: z.array(UntrustedSource).optional(),
      /** The scopes that can be answered with; all of them when absent. */
      scopes: z.array(z.enum(['once', 'task', 'always'])).optional(),
    })
    .optional(),
  /** For a conflict: the files. */
  files: z.array(z.string()).optional(),
})
export type Attention = z.infer<typeof Attention>

export const BackgroundProcess = z.object({
  id: z.string(),
  taskId: TaskId,
  command: z.string(),
  startedAt: z.iso.datetime(),
  exitCode: z.number().int().nullable(),
  isRunning: z.boolean(),
})
export type BackgroundProcess = z.infer<typeof BackgroundProcess>

/** How far the claim of each server and tool has been checked. A state never says more than was seen. */
export const ToolStatus = z.object({
  wireName: z.string(),
  uri: z.string(),
  name: z.string(),
  description: z.string(),
  sideEffect: z.string(),
  /** What the gate would say before a person is asked. */
  gate: z.enum(['allow', 'ask', 'deny']),
  calls: z.number().int(),
})
/** What is different about a server, and how somebody can agree to it. */
export const ServerDrift = z.object({
  /** The digest of what was found, to be given back with the answer: what was not shown is not agreed to. */
  surface: z.string().nullable(),
  /** Why nobody can agree to it; null where somebody can. */
  obstacle: z.string().nullable(),
  tools: z.array(
    z.object({
      tool: z.string(),
      change: z.enum(['changed', 'added', 'removed', 'repeated']),
      /** For a tool that is new: the class that it would get. */
      sideEffect: z.string(),
      /** Each text of the definition that differs, by the way to it; null where there was or is none. What is hidden in it is spelled out. */
      fields: z.array(z.object({ field: z.string(), approved: z.string().nullable(), found: z.string().nullable() })),
    }),
  ),
})
export type ServerDrift = z.infer<typeof ServerDrift>

export const ServerStatus = z.object({
  alias: z.string(),
  transport: z.enum(['stdio', 'http', 'in-process']),
  version: z.string().nullable(),
  digest: z.string().nullable(),
  state: z.enum(['unchecked', 'verified', 'drifted', 'quarantined', 'unavailable']),
  isLocked: z.boolean(),
  isRunning: z.boolean(),
  isSandboxed: z.boolean(),
  problem: Problem.nullable(),
  /** For a drifted server: what was agreed to and what was found, as a text diff. */
  drift: z.string().nullable(),
  /** The same for programs; null where the list of the server could not be read at all. */
  drifted: ServerDrift.nullable(),
  tools: z.array(ToolStatus),
})
export type ServerStatus = z.infer<typeof ServerStatus>

export const ToolsView = z.object({
  agent: z.string(),
  manifestFile: z.string().nullable(),
  allowedSideEffects: z.array(z.string()),
  sandbox: z.object({ isActive: z.boolean(), reason: z.string().nullable() }),
  servers: z.array(ServerStatus),
})
export type ToolsView = z.infer<typeof ToolsView>
