import type { DurableEvent } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { ask, startTestDaemon } from './daemon.testing.ts'
import { openMetrics } from './metrics.ts'
import { projectId, scriptOrchestrator, taskId } from './scripted-orchestrator.testing.ts'

const stamp = { taskId, ts: '2026-01-01T00:00:00.000Z' }
const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 3, cacheWriteTokens: 2 }

function open() {
  const orchestrator = scriptOrchestrator()
  const metrics = openMetrics(orchestrator)
  const happen = (...events: DurableEvent[]) => {
    for (const [index, event] of events.entries())
      orchestrator.emit({ kind: 'event', projectId, taskId, seq: index + 1, event })
  }
  return {
    metrics,
    happen,
    call: (name: string, callId: string): DurableEvent => ({ type: 'tool_call', ...stamp, callId, name, input: {} }),
  }
}

const result = (callId: string, isError = false): DurableEvent => ({
  type: 'tool_result',
  ...stamp,
  callId,
  content: [],
  isError,
})

test('turns, tokens, cost and tool calls are counted by model, tool and result', () => {
  const { metrics, happen, call } = open()
  const turn: DurableEvent = {
    type: 'turn_completed',
    ...stamp,
    model: 'm1',
    stopReason: 'tool_use',
    usage,
    costUsd: 0.25,
  }
  happen(call('bash', 'a'), call('bash', 'b'), turn, result('a'), result('b', true), turn)

  const text = metrics.read({ streams: 4 })
  expect(text).toContain('# TYPE matrix_turns_total counter\nmatrix_turns_total{model="m1",stop_reason="tool_use"} 2\n')
  expect(text).toContain('matrix_tokens_total{model="m1",type="input"} 20\n')
  expect(text).toContain('matrix_tokens_total{model="m1",type="cache_read"} 6\n')
  expect(text).toContain('matrix_cost_usd_total{model="m1"} 0.5\n')
  expect(text).toContain('matrix_tool_calls_total{tool="bash",result="ok"} 1\n')
  expect(text).toContain('matrix_tool_calls_total{tool="bash",result="error"} 1\n')
  expect(text).toContain('# TYPE matrix_agents gauge\nmatrix_agents{state="live"} 0\n')
  expect(text).toContain('matrix_event_streams 4\n')
})

test('names that a model invents neither break a line nor fill the memory', () => {
  const { metrics, happen, call } = open()
  happen(call('a"b\\c\nd', 'x'), result('x'))
  for (let index = 0; index < 2_000; index += 1) happen(call(`tool${index}`, 'x'), result('x', true))

  const lines = metrics.read({ streams: 0 }).split('\n')
  expect(lines).toContain('matrix_tool_calls_total{tool="a\\"b\\\\c d",result="ok"} 1')
  expect(lines).toContain('matrix_tool_calls_total{other="true"} 1501')
  expect(lines.length).toBeLessThan(600)
})

test('they are read at /metrics with the number of streams, and only where they are counted', async () => {
  const orchestrator = scriptOrchestrator()
  const daemon = await startTestDaemon({ metrics: openMetrics(orchestrator) })
  const without = await startTestDaemon()
  const headers = ({ token }: { token: string }) => ({ headers: { authorization: `Bearer ${token}` } })

  const { status, text, headers: given } = await ask(`${daemon.url}/metrics`, headers(daemon))
  expect([status, given['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  expect(text).toContain('matrix_event_streams 0\n')
  const refused = await ask(`${without.url}/metrics`, headers(without))
  expect(refused.status).toBe(404)
  expect(refused.text).toContain('matrix config set telemetry.metrics true')
  await daemon.close()
  await without.close()
})
