import type { DurableEvent } from '@matrix/protocol'
import type { Activity, Problem } from '@matrix/protocol/http'
import type { MessageQueue } from '@matrix/provider-loop'
import type { AgentServer } from './agent-tools/agent-server.ts'
import type { IdleWatch } from './idle-watch.ts'
import type { AgentTools } from './tool-host.ts'

/**
 * Why an agent was interrupted: `user` keeps it stopped until a person says otherwise and `reset` until anybody needs it; the others let
 * it go on by itself, `refresh` with other settings.
 */
export type StopReason = 'user' | 'shutdown' | 'reset' | 'refresh'

/** An agent while it lives. Everything here can be lost: what counts is in its session. */
export type Agent = {
  readonly taskId: string
  readonly queue: MessageQueue
  readonly abort: AbortController
  activity: Activity
  doing: string | undefined
  problem: Problem | undefined
  model: string | undefined
  contextTokens: number | undefined
  contextWindow: number | undefined
  tools: AgentTools | undefined
  /** The orchestrator's own tools, as this agent reaches them. */
  server: AgentServer | undefined
  /** What it was last told about git in its worktree. */
  gitNote: string | undefined
  readonly idle: IdleWatch
  stopReason: StopReason | undefined
  /** Whether settings have changed since it was launched. */
  isOutdated: boolean
  /** Whether the user has asked for the configuration of now since it was launched. */
  takesConfig: boolean
  /** Whether its start waits for the user to approve what it would work by. */
  isHeldUp: boolean
  /** The call with which the agent ended itself; its result is stored together with the end. */
  endingCall: string | undefined
  /** When each call of the present turn was recorded. */
  callTimes: Map<string, string>
  /** How long its calls have waited for users, which is not time at work. */
  waitedMs: number
  /** Calls that are made again, because a crash took their results away. */
  repeated: Set<string>
  /** Settles when the agent has ended and everything of it is stored. Never rejects. */
  ended: Promise<void>
}

export type EventOf<T extends DurableEvent['type']> = Extract<DurableEvent, { type: T }>
