import { builtinTools, type DurableEvent, queueMessage } from '@matrix/protocol'
import { foldSession } from '@matrix/protocol/session'
import { type Benchmark, median } from '../figure.ts'

const count = 100_000
const rounds = 9

/** What it costs to know what a session means: paid for every event that is stored. */
export const benchmark: Benchmark = {
  name: 'fold',
  async measure() {
    const events = makeSession()
    const times = Array.from({ length: rounds }, () => {
      const start = performance.now()
      foldSession(events)
      return performance.now() - start
    })
    return [
      {
        name: `fold an event of ${count}`,
        unit: 'µs',
        ours: (median(times) * 1000) / events.length,
        floor: 2,
        against: 'allowed',
        limit: 1,
      },
    ]
  },
}

/** Turns of a few calls, a message now and then, and one background command in a hundred turns. */
function makeSession(): DurableEvent[] {
  const stamp = { taskId: '01KMAB1234ABCDEFGHJKMNPQRS', ts: '2026-01-01T00:00:00.000Z' }
  const usage = { inputTokens: 12, outputTokens: 345, cacheReadTokens: 6789, cacheWriteTokens: 123 }
  const events: DurableEvent[] = []
  for (let turn = 0; events.length < count; turn += 1) {
    const id = `m${turn}`
    if (turn % 10 === 0)
      events.push(
        { type: 'message', ...stamp, message: queueMessage.user({ id, text: 'Go' }) },
        { type: 'messages_consumed', ...stamp, messageIds: [id] },
      )
    const calls = ['a', 'b', 'c'].map((name) => `toolu_${turn}${name}`)
    events.push({ type: 'assistant_text', ...stamp, text: 'I look at the next file.' })
    const input = { command: 'ls', background: turn % 100 === 0 }
    for (const callId of calls) events.push({ type: 'tool_call', ...stamp, callId, name: builtinTools.bash, input })
    events.push({ type: 'turn_completed', ...stamp, model: 'm', stopReason: 'tool_use', usage, costUsd: 0.01 })
    for (const callId of calls) events.push({ type: 'tool_result', ...stamp, callId, content: [], isError: false })
  }
  return events
}
