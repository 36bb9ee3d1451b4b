import type { Grant, SkillLimit } from '@matrix/manifest'
import type { Origin, ToolSpec } from '@matrix/protocol'
import type { ToolsView } from '@matrix/protocol/http'
import type { ToolExecResult } from '@matrix/provider-loop'
import type { ApprovalPort, FlowCheck, OwnTool } from '@matrix/tool-manager'
import type { Ask } from './server-approval.ts'

/** A command that outlived the call that started it, and has now ended. */
export type BackgroundEnd = {
  processId: string
  command: string
  exitCode: number | null
  output: string
  /** Where the output came from. */
  origin?: Origin | undefined
}

export type BackgroundCommand = {
  processId: string
  command: string
  read(): Promise<string>
  kill(): Promise<void>
}

export type AgentToolsRequest = {
  taskId: string
  worktree: string
  /** Which manifest says what the agent may do, and those of the tasks above, nearest first: it may do no more than they. */
  agents: readonly (string | undefined)[]
  /** The skills that hold its calls right now, with those that its manifests name. */
  skills?: ((ofManifests: readonly string[]) => readonly SkillLimit[]) | undefined
  approve: ApprovalPort
  /** Puts a definition before the user that is withheld from agents. Without it, such ones stay withheld. */
  ask?: Ask | undefined
  /** What speaks against a call that its manifest allows, because of what its conversation holds. */
  flow?: FlowCheck | undefined
  /** Called when a call has left a command running; answers with what is called when that has ended. */
  onBackgroundStart(callId: string, process: BackgroundCommand): (end: BackgroundEnd) => void
}

export type ToolCallContext = {
  callId: string
  signal: AbortSignal
  /** Hears whole lines of what the call prints. */
  onProgress?: (text: string) => void
  /** Takes the place that the call needs, once nobody has to be asked any more; what it answers gives the place back. */
  enter?: (() => Promise<() => void>) | undefined
}

/** The tools of one agent. Nothing runs until one is called. */
export type AgentTools = {
  specs(): Promise<ToolSpec[]>
  call(name: string, input: Record<string, unknown>, context: ToolCallContext): Promise<ToolExecResult>
  /** Whether the user and the manifest let the agent call a tool that the orchestrator itself provides. */
  allows(tool: OwnTool): boolean
  /** The address of a tool, as its manifest pins it; undefined for one of a server that was left out. */
  uriOf(name: string): string | undefined
  /** Whether a call takes a core for itself, such as a test run. */
  isHeavy(name: string): boolean
  /** The prompt of its agent file, if it has one. */
  prompt?: string | undefined
  /** What its agent file adds to the start of a conversation: resources, what its hooks say, and servers that are missing. */
  context?(signal?: AbortSignal): Promise<string>
  /** Runs the hooks of its agent file at a moment that is no call, and answers what they say for the conversation. */
  runHooks?(trigger: 'userPromptSubmit' | 'stop', told: { prompt?: string; signal: AbortSignal }): Promise<string>
  view(): Promise<ToolsView>
  /** Ends what runs for the agent, but for background commands, until it calls again. */
  park(): Promise<void>
  close(): Promise<void>
}

export type ForwardRequest = { worktree: string; port: number; to?: number | undefined }

/** A port of this machine that leads into a sandbox. `ended` settles when it is closed or the sandbox is gone. */
export type PortForward = { localPort: number; ended: Promise<void>; close(): Promise<void> }

/** Where agents get their tools from. */
export type ToolHost = {
  open(request: AgentToolsRequest): Promise<AgentTools>
  /** The digests of servers that come with Matrix. */
  shipped?: ReadonlySet<string>
  /**
   * Throws when there is no manifest of the first name, or when it allows more than one of those above, nearest first. Whether
   * one that came with a repository may be used is asked when an agent starts.
   */
  checkAgent?(agents: AgentToolsRequest['agents']): Promise<void>
  /** The skills that these manifests hold their agents to. */
  skillsOf?(agents: AgentToolsRequest['agents']): Promise<string[]>
  /** What an agent may do by the first of these names, those above being nearest first. */
  grantOf?(agents: AgentToolsRequest['agents']): Promise<Grant>
  /** Makes the files of a worktree usable by the agent's tools, after git has written some of them. */
  adopt(worktree: string): Promise<void>
  /** Lets the user reach a port in the sandbox of a worktree. */
  forward?(request: ForwardRequest): Promise<PortForward>
  /** Puts before a person what agents by these manifests could use once somebody agrees. No agent waits for it. */
  review?(agents: AgentToolsRequest['agents'], ask: Ask): Promise<void>
  /** Waits until the user has approved or denied the manifests of the repository without which these agents cannot start. */
  awaitAgents?(agents: AgentToolsRequest['agents'], ask: Ask): Promise<void>
  /** Locks what a server has now, if it still is what a person was shown under this digest. Agents get it when they next start. */
  approveDrift?(request: { agents: AgentToolsRequest['agents']; alias: string; surface: string }): Promise<void>
}
