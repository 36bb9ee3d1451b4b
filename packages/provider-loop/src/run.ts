import {
  type DurableEvent,
  type Event,
  type LiveEvent,
  nothingSpent,
  type QueueMessage,
  removeInvisibleDeep,
  type Spent,
  type ToolSpec,
} from '@matrix/protocol'
import { type BudgetPort, createBudget } from './budget.ts'
import { type Conversation, openConversation, type WantedCompaction } from './conversation.ts'
import { defaultRetry, type RetryPolicy } from './failure.ts'
import { createLoopBreaker, type LoopBreaker } from './loop-breaker.ts'
import type { MessageQueue } from './message-queue.ts'
import { type Ports, systemPorts } from './ports.ts'
import type { ModelPricing } from './pricing.ts'
import type { ProviderAdapter } from './provider-adapter.ts'
import type { ToolDefinition, ToolHandlers } from './tools.ts'

export type ExitReason = 'done_passed' | 'done_failed' | 'interrupted'

export type AgentResult = { exitReason: ExitReason; output: string; costUsd: number; turns: number }

/** Limits of one run, from start or resume to its end. */
export type RunLimits = { maxTurns?: number; maxTokens?: number; maxDurationMs?: number }

/** Where a turn can be asked for: an API with its key, and a model there. */
export type Route = { adapter: ProviderAdapter; model: string }

export type AgentRequest = {
  taskId: string
  model: string
  systemPrompt: string
  tools: ToolDefinition[]
  /** What the session holds since its last compaction, oldest first. */
  events?: Iterable<DurableEvent>
  signal: AbortSignal
  /** Where to go on when the first provider cannot. */
  fallbacks?: Route[]
  maxOutputTokens?: number
  budget?: BudgetPort
  limits?: RunLimits
  /** How long the agent's calls have waited for users so far: this is not time at work. */
  waitedMs?: () => number
  retry?: Partial<RetryPolicy>
  /** Memory and working directory as they are now, for the start of a compacted conversation. */
  readMemory?: () => Promise<string> | string
  /** What the conversation is told beside messages that it takes in, for as long as it holds them; nothing where it is empty. */
  readBeside?: (messages: readonly QueueMessage[]) => Promise<string> | string
  /** Hears the words of an answer while they come. Without it they are yielded among the events, which takes longer. */
  onSpeech?: (event: LiveEvent) => void
  ports?: Ports
}

/** Everything one run of the loop knows. Its steps change it; nobody else sees it. */
export type Run = {
  taskId: string
  sessionId: string
  /** Tells a signal at once; facts are yielded, one after another. */
  say: (event: LiveEvent) => void
  signal: AbortSignal
  ports: Ports
  queue: MessageQueue
  handlers: ToolHandlers
  budget: BudgetPort
  limits: RunLimits
  retry: RetryPolicy
  readMemory: () => Promise<string> | string
  readBeside: (messages: readonly QueueMessage[]) => Promise<string> | string
  maxOutputTokens: number

  /** The configuration that the caller has now; the session's own may be older. */
  offered: { systemPrompt: string; tools: ToolSpec[] }
  routes: Route[]
  route: Route
  /** The first route failed, so that another one is used. */
  isElsewhere: boolean
  conversation: Conversation
  /** Kept to rebuild the conversation for another provider. */
  events: DurableEvent[]
  prepared: Uint8Array
  pricing: ModelPricing | undefined
  contextWindow: number

  breaker: LoopBreaker
  /** A compaction that is the next thing to do. */
  compact: WantedCompaction | undefined
  /** The loop breaker has stopped the agent; only somebody else's words let it go on. */
  stuck: boolean
  /** Messages that were stored before this part of the session began have to be stored in it again. */
  redeliver: boolean
  exit: Pick<AgentResult, 'exitReason' | 'output'> | undefined
  spent: Spent
  turns: number
  startedAt: number
  /** Until when the time at work is counted, and how long the agent had waited for users by then. */
  metered: { at: number; waitedMs: number }
  waitedMs: () => number
}

type WithoutStamp<E> = E extends Event ? Omit<E, 'taskId' | 'ts'> : never
export type UnstampedEvent = WithoutStamp<Event>
export type UnstampedDurable = WithoutStamp<DurableEvent>

const defaultMaxOutputTokens = 16_000

export function openRun(
  adapter: ProviderAdapter,
  request: AgentRequest,
  { sessionId, queue, say }: Pick<Run, 'sessionId' | 'queue' | 'say'>,
): Run {
  const route = { adapter, model: request.model }
  const ports = request.ports ?? systemPorts
  return {
    taskId: request.taskId,
    sessionId,
    say,
    signal: request.signal,
    ports,
    queue,
    handlers: new Map(request.tools.map((tool) => [tool.name, tool])),
    budget: request.budget ?? createBudget(),
    limits: request.limits ?? {},
    retry: { ...defaultRetry, ...request.retry },
    readMemory: request.readMemory ?? (() => ''),
    readBeside: request.readBeside ?? (() => ''),
    maxOutputTokens: request.maxOutputTokens ?? defaultMaxOutputTokens,
    offered: removeInvisibleDeep({ systemPrompt: request.systemPrompt, tools: request.tools.map(toSpec) }),
    routes: [route, ...(request.fallbacks ?? [])],
    route,
    isElsewhere: false,
    conversation: openConversation(adapter),
    events: [],
    prepared: new Uint8Array(),
    pricing: undefined,
    contextWindow: 0,
    breaker: createLoopBreaker(),
    compact: undefined,
    stuck: false,
    redeliver: true,
    exit: undefined,
    spent: nothingSpent,
    turns: 0,
    startedAt: ports.now(),
    metered: { at: ports.now(), waitedMs: 0 },
    waitedMs: request.waitedMs ?? (() => 0),
  }
}

function toSpec({ name, description, inputSchema }: ToolSpec): ToolSpec {
  return { name, description, inputSchema }
}

/** Time at work begins to count from now on. */
export function restartMeter(run: Run): void {
  run.metered = { at: run.ports.now(), waitedMs: run.waitedMs() }
}

/** How long the agent was at work since it was asked last. */
export function readMeter(run: Run): number {
  const before = run.metered
  restartMeter(run)
  return Math.max(0, Math.round(run.metered.at - before.at - (run.metered.waitedMs - before.waitedMs)))
}

export function stamp<E extends UnstampedEvent>(run: Run, event: E): E & { taskId: string; ts: string } {
  return { ...event, taskId: run.taskId, ts: timestamp(run) }
}

/** Thousands of events share a second, whoever they are of: only their milliseconds are new. */
export function timestamp({ ports }: Pick<Run, 'ports'>): string {
  const now = Math.floor(ports.now())
  const ms = now % 1000
  if (now - ms !== second.at) second = { at: now - ms, text: new Date(now - ms).toISOString().slice(0, -'000Z'.length) }
  return `${second.text}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z`
}
let second = { at: Number.NaN, text: '' }

/** Makes an event part of the conversation. It is a fact once the caller has taken it and asks for the next. */
export function record<E extends UnstampedDurable>(run: Run, event: E): E & DurableEvent {
  const stamped = stamp(run, event) as E & DurableEvent
  applyEvent(run, stamped)
  return stamped
}

export function applyEvent(run: Run, event: DurableEvent): void {
  run.conversation.apply(event)
  if (event.type === 'compact_marker') run.events = []
  if (run.routes.length > 1) run.events.push(event)
}

/** Takes up a route: its prices, its window, and the conversation in its words. */
export async function takeRoute(
  run: Run,
  route: Route,
  frozen: { tools: ToolSpec[]; systemPrompt: string },
): Promise<void> {
  const { adapter, model } = route
  run.prepared = adapter.prepareTools(frozen.tools, frozen.systemPrompt)
  run.pricing = await adapter.getModelPricing(model)
  run.contextWindow = await adapter.getContextWindow(model)
  if (adapter !== run.route.adapter) {
    run.conversation = openConversation(adapter)
    for (const event of run.events) run.conversation.apply(event)
  }
  run.route = route
}

export function interrupt(run: Run, output: string): void {
  run.exit ??= { exitReason: 'interrupted', output }
}
