import type { Event } from '@matrix/protocol'
import { compactWhenFull } from './compaction.ts'
import { createMessageQueue, type MessageQueue } from './message-queue.ts'
import type { ProviderAdapter } from './provider-adapter.ts'
import { type AgentRequest, type AgentResult, interrupt, openRun, type Run } from './run.ts'
import { withSpeech } from './speech.ts'
import { startRun } from './start.ts'
import { callTools } from './tool-calls.ts'
import { takeTurn } from './turn.ts'
import { takeMessages, waitForMessages } from './waiting.ts'

/**
 * Drives one agent until it is done or interrupted, and yields everything that happens on the way. An event is a
 * fact when the next one is asked for: whoever stores events stores them first, so that a call is on disk before
 * its tool runs.
 */
export function runProviderLoop(
  adapter: ProviderAdapter,
  request: AgentRequest,
  sessionId: string,
  queue: MessageQueue = noQueue(),
): AsyncGenerator<Event, AgentResult> {
  const { signal, onSpeech } = request
  if (onSpeech) return takeSteps(openRun(adapter, request, { sessionId, queue, say: onSpeech }), request)
  return withSpeech(signal, (own, say) =>
    takeSteps(openRun(adapter, { ...request, signal: own }, { sessionId, queue, say }), request),
  )
}

function noQueue(): MessageQueue {
  const queue = createMessageQueue()
  queue.close()
  return queue
}

async function* takeSteps(run: Run, request: AgentRequest): AsyncGenerator<Event, AgentResult> {
  yield* startRun(run, request)

  while (!hasEnded(run)) {
    yield* compactWhenFull(run)
    if (hasEnded(run)) break

    // Silence is a pause, never an end: only `done` or an interrupt ends an agent.
    if (!run.conversation.awaitsModel()) {
      yield* waitForMessages(run)
      continue
    }

    // Its money is set aside first, its words are streamed, and it is recorded as a whole or not at all.
    const turn = yield* takeTurn(run)
    if (!turn) continue
    yield* callTools(run, run.route.adapter.getToolUses(turn))

    // What arrived while tools ran is heard before the next turn.
    if (!hasEnded(run) && run.conversation.pendingCalls().length === 0) yield* takeMessages(run)
  }

  return buildResult(run)
}

/** The signal also cancels whatever is under way; here it keeps the next thing from beginning. */
function hasEnded(run: Run): boolean {
  if (run.signal.aborted) interrupt(run, 'The agent was stopped.')
  return run.exit !== undefined
}

function buildResult(run: Run): AgentResult {
  const exit = run.exit ?? { exitReason: 'interrupted' as const, output: '' }
  const result = { ...exit, costUsd: run.spent.usd, turns: run.turns }
  return run.route.adapter.buildResult?.(result) ?? result
}
