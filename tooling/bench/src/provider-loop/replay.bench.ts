import { type DurableEvent, queueMessage } from '@matrix/protocol'
import { createAnthropicAdapter } from '@matrix/provider-loop'
import { type Benchmark, interleave } from '../figure.ts'

const count = 100_000

/** What it costs to bring back a long session. */
export const benchmark: Benchmark = {
  name: 'replay',
  async measure() {
    const lines = writeSession()
    const adapter = createAnthropicAdapter({})
    const times = await interleave(5, {
      parse: () => lines.map((line) => JSON.parse(line)),
      replay: () => adapter.convertEventsToMessages(parseAll(lines)),
    })
    return [
      {
        name: `replay ${count} events into messages`,
        unit: 'ms',
        ours: times.replay,
        floor: times.parse,
        against: 'JSON.parse',
        limit: 2,
      },
    ]
  },
}

function* parseAll(lines: string[]): Generator<DurableEvent> {
  for (const line of lines) yield JSON.parse(line)
}

function writeSession(): string[] {
  const stamp = { taskId: '01KMAB1234ABCDEFGHJKMNPQRS', ts: '2026-01-01T00:00:00.000Z' }
  const usage = { inputTokens: 12, outputTokens: 345, cacheReadTokens: 6789, cacheWriteTokens: 123 }
  const events: DurableEvent[] = [
    { type: 'message', ...stamp, message: queueMessage.user({ id: 'm', text: 'Go' }) },
    { type: 'messages_consumed', ...stamp, messageIds: ['m'] },
  ]
  for (let turn = 0; events.length < count; turn += 1) {
    const callId = `toolu_${turn}`
    events.push(
      { type: 'assistant_text', ...stamp, text: 'I look at the next file to see what is in it. '.repeat(5) },
      {
        type: 'tool_call',
        ...stamp,
        callId,
        name: 'mcp__mxd__read_file',
        input: { path: `src/file-${turn}.ts`, offset: turn, limit: 200 },
      },
      { type: 'turn_completed', ...stamp, model: 'claude-sonnet-4-6', stopReason: 'tool_use', usage, costUsd: 0.0123 },
      {
        type: 'tool_result',
        ...stamp,
        callId,
        content: [{ type: 'text', text: 'export const answer = 42 // and more\n'.repeat(20) }],
        isError: false,
      },
    )
  }
  return events.map((event) => JSON.stringify(event))
}
