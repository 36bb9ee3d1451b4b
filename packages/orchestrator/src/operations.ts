import type { Frame, Operation, RouteOutput, RouteRequest, Routes } from '@matrix/protocol/http'

/** What only the daemon itself can answer: its own state, and who is asking. */
type DaemonOperation =
  | 'health'
  | 'ready'
  | 'getStatus'
  | 'openEnrolment'
  | 'enrolDevice'
  | 'confirmDevice'
  | 'listDevices'
  | 'revokeDevice'
  | 'challenge'
  | 'answerChallenge'
  | 'signOut'

export type ServedOperation = Exclude<Operation, DaemonOperation>

/** One function for each operation. The HTTP route, the CLI and the agent's tool all end here. */
export type Operations = {
  [Op in ServedOperation]: (request: RouteRequest<Routes[Op]>) => Promise<RouteOutput<Routes[Op]>>
}

/** Everything that can be done with agents, and everything that happens to them. */
export type Orchestrator = Operations & {
  /** Brings every session back to life; until then nothing else is to be called. Answers what was found. */
  resume(): Promise<Resumed>
  /** Calls back for every frame from now on, in order; the answer ends it. A frame is sent once what it says is durable. */
  subscribe(listener: (frame: Frame) => void): () => void
  agents(): { live: number; working: number }
  /** The hosts that the commands of a task reach now. */
  reachableHosts(projectId: string, taskId: string): Promise<string[]>
  sandbox(): { isActive: boolean; reason: string | null }
  provider(): { kind: 'mock' | 'configured' | 'missing'; model: string | null }
  /** Interrupts every agent so that it can be resumed, ends every process, and closes the stores. */
  close(): Promise<void>
}

export type Resumed = { waiting: number; continued: number; ended: number; problems: string[] }
