import { type DurableEvent, type Event, loopTools, type ToolSpec } from '@matrix/protocol'
import { interruptedText } from './conversation.ts'
import { type AgentRequest, applyEvent, type Route, type Run, record, takeRoute } from './run.ts'
import { readDone } from './tools.ts'
import { takeMessages } from './waiting.ts'

type SessionConfig = Extract<DurableEvent, { type: 'session_config' }>

/** Brings the conversation back to where the session left it, or begins one. */
export async function* startRun(run: Run, request: AgentRequest): AsyncGenerator<Event> {
  const events = [...(request.events ?? [])]
  const frozen = findFrozen(events)
  const route = findRoute(run.routes, frozen)
  const settings = frozen ?? run.offered

  await takeRoute(run, route ?? run.route, settings)
  for (const event of events) applyEvent(run, event)
  if (!frozen || !route) yield record(run, configOf(run.route, settings))

  yield* dropPartialTurn(run)
  yield* closeOrphans(run)
  run.compact = run.conversation.unfinishedCompaction()
  // Killed between its last word and its end, an agent to whom nobody has said anything since is simply ended.
  if (!run.queue.hasWaking()) run.exit = findEnd(events)
  // What is said to an agent that is being summed up is heard after its summary, which would not hold it.
  if (!run.compact && run.conversation.pendingCalls().length === 0) yield* takeMessages(run)
}

/** What the session is bound to, unless another configuration has been asked for since. */
function findFrozen(events: DurableEvent[]): SessionConfig | undefined {
  const last = events.findLast(({ type }) => type === 'session_config' || type === 'config_requested')
  return last?.type === 'session_config' ? last : undefined
}

const leavesEnd: ReadonlySet<string> = new Set(['tool_result', 'budget_warning', 'config_requested'])

/** How a session ended, if the last thing in it is a `done` that was heard, and nobody has said or noted anything since. */
function findEnd(events: DurableEvent[]): Run['exit'] {
  const last = events.findLastIndex((event) => event.type === 'turn_completed')
  const after = events.slice(last + 1)
  if (after.some(({ type }) => !leavesEnd.has(type))) return undefined
  const heard = after.flatMap((event) => (event.type === 'tool_result' && !event.isError ? [event.callId] : []))
  const done = events.findLast((event) => event.type === 'tool_call' && event.name === loopTools.done)
  if (done?.type !== 'tool_call' || !heard.includes(done.callId)) return undefined
  const end = readDone(done.input as Record<string, unknown>)
  return end && { exitReason: end.exitReason, output: end.output }
}

/** The session's own model, as long as it can still be reached. */
function findRoute(routes: Route[], frozen: SessionConfig | undefined): Route | undefined {
  if (!frozen) return routes[0]
  const exact = routes.find(({ adapter, model }) => adapter.name === frozen.provider && model === frozen.model)
  if (exact) return exact
  const same = routes.find(({ adapter }) => adapter.name === frozen.provider)
  return same && { adapter: same.adapter, model: frozen.model }
}

export function configOf(
  { adapter, model }: Route,
  { systemPrompt, tools }: { systemPrompt: string; tools: ToolSpec[] },
) {
  return { type: 'session_config' as const, provider: adapter.name, model, systemPrompt, tools }
}

const waitingTools: ReadonlySet<string> = new Set([loopTools.yield, loopTools.clarify])

/** An answer of which only the beginning was stored is as good as none; the model is asked again. */
function* dropPartialTurn(run: Run): Generator<Event> {
  if (!run.conversation.hasPartialTurn()) return
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
  yield record(run, { type: 'turn_completed', model: run.route.model, stopReason: 'failed', usage, costUsd: 0 })
}

/**
 * Calls that a crash left without a result get one that says so. An agent that had only been waiting goes on
 * waiting: its call stays open, and no model is asked.
 */
function* closeOrphans(run: Run): Generator<Event> {
  const pending = run.conversation.pendingCalls()
  if (pending.every((call) => waitingTools.has(call.name))) return
  for (const { callId } of pending)
    yield record(run, {
      type: 'tool_result',
      callId,
      content: [{ type: 'text', text: interruptedText }],
      isError: true,
    })
}
