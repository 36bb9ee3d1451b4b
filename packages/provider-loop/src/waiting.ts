import { type Event, isWaking, loopTools, type QueueMessage } from '@matrix/protocol'
import { applyEvent, interrupt, type Run, record, restartMeter, stamp } from './run.ts'

/** Parks the agent until somebody speaks: no model call, no timer. Ends it when nobody can speak any more. */
export async function* waitForMessages(run: Run): AsyncGenerator<Event, void> {
  const accept = (message: QueueMessage) => isWaking(message) && (!run.stuck || isFromOthers(run, message))
  if (!run.queue.hasWaking() || run.stuck) {
    yield stamp(run, { type: 'agent_idle' })
    if (!(await run.queue.wait(run.signal, accept)))
      return interrupt(run, run.signal.aborted ? 'The agent was stopped.' : 'The message queue was closed.')
    restartMeter(run)
    yield stamp(run, { type: 'agent_active' })
  }
  const messages = run.queue.drain()
  const onlyCompact = messages.filter(isWaking).every((message) => message.source === 'compact')
  for (const call of run.conversation.pendingCalls()) {
    const content = [{ type: 'text' as const, text: wokenText(call, messages) }]
    yield record(run, { type: 'tool_result', callId: call.callId, content, isError: false })
  }
  yield* consume(run, messages)
  if (run.compact && onlyCompact) run.compact.idle = true
}

/** Whoever asked and hears something else must not take it for the answer. */
function wokenText({ callId, name }: { callId: string; name: string }, messages: QueueMessage[]): string {
  const isAnswered = messages.some(
    (message) => message.source === 'clarify_response' && message.clarificationId === callId,
  )
  if (name !== loopTools.clarify || isAnswered) return 'You were woken by the messages below.'
  return 'You were woken by the messages below. Your question has no answer yet: it stays before the person, and `yield` waits for them.'
}

/** Takes what arrived meanwhile into the conversation. */
export async function* takeMessages(run: Run): AsyncGenerator<Event, void> {
  if (run.conversation.awaitsModel() || run.queue.hasWaking()) yield* consume(run, run.queue.drain())
}

async function* consume(run: Run, drained: QueueMessage[]): AsyncGenerator<Event, void> {
  const messages = drained.filter((message) => !run.conversation.hasConsumed(message.id))
  if (messages.length === 0) return
  for (const message of messages) yield* learn(run, message)
  run.redeliver = false
  const said = await run.readBeside(messages)
  yield record(run, { type: 'messages_consumed', messageIds: messages.map((message) => message.id) })
  if (said) yield record(run, { type: 'notice', text: said })

  if (messages.some((message) => message.source === 'compact')) run.compact = { reason: 'manual', idle: false }
  if (messages.some((message) => isFromOthers(run, message))) {
    run.stuck = false
    run.breaker.reset()
  } else yield* heedBreaker(run, run.breaker.observeIdleTurn('you woke yourself with a message of your own'))
}

/**
 * Whoever sent a message has stored it. One that was stored before this part of the session began is stored in it
 * again, or a replay would find its id and not its words.
 */
function* learn(run: Run, message: QueueMessage): Generator<Event> {
  if (run.conversation.knows(message.id)) return
  const event = stamp(run, { type: 'message' as const, message })
  applyEvent(run, event)
  if (run.redeliver) yield event
}

function isFromOthers(run: Run, message: QueueMessage): boolean {
  return !(message.source === 'task_message' && message.fromTaskId === run.taskId)
}

/** Tells an agent that goes in circles so, and parks it when that did not help. */
export function* heedBreaker(run: Run, verdict: ReturnType<Run['breaker']['observeIdleTurn']>): Generator<Event> {
  if (verdict.kind === 'fine') return
  if (verdict.kind === 'warn') {
    yield record(run, {
      type: 'notice',
      text: `[Matrix] You are going in circles: ${verdict.what}. Do something else, or say what you need and wait.`,
    })
    return
  }
  run.stuck = true
  yield record(run, {
    type: 'error',
    code: 'LOOP_DETECTED',
    message: `The agent was parked because it goes in circles: ${verdict.what}.`,
    hint: 'Read what the agent repeats, then tell it what to do instead.',
  })
}
