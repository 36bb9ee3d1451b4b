import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isPersistedByEmitEvent, queueMessage } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { createScriptedAdapter } from '../test/scripted-adapter.ts'
import { echo, stillPorts } from '../test/story.ts'
import { checkpointSections } from './compaction.ts'
import { createMessageQueue } from './message-queue.ts'
import { runProviderLoop } from './provider-loop.ts'
import { textResult } from './tools.ts'

const turns = Number(process.env.MATRIX_MEMORY_TURNS ?? 600)

test('memory stays flat over thousands of turns', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  let asked = 0
  const adapter = createScriptedAdapter('anthropic', (request) => {
    if (request.slice(-3000).includes('inside <summary>'))
      return { text: `<summary>${checkpointSections.join()}</summary>`, calls: [], stopReason: 'end_turn' }
    asked += 1
    return {
      text: 'Next.',
      calls: [{ callId: `c${asked}`, name: echo.name, input: { text: `${asked}` } }],
      stopReason: 'tool_use',
    }
  })
  const tool = { ...echo, handler: ({ text }: Record<string, unknown>) => textResult(`${text} ${'x'.repeat(200)}`) }
  const queue = createMessageQueue([queueMessage.user({ id: 'm1', text: 'Go' })])
  const signal = new AbortController().signal
  const request = {
    taskId: 't1',
    model: 'm',
    systemPrompt: 'S',
    tools: [tool],
    signal,
    ports: stillPorts(),
    limits: { maxTurns: turns },
  }
  const heaps: number[] = []
  let results = 0
  for await (const event of runProviderLoop(adapter, request, 's1', queue)) {
    if (event.type === 'compact_marker') adapter.forget()
    if (!isPersistedByEmitEvent(event) || event.type !== 'tool_result') continue
    adapter.requests.length = 0
    results += 1
    // A person asks for a summary now and then.
    if (results % 50 === 0) queue.enqueue(queueMessage.compact({ id: `compact${results}` }))
    if (results === Math.floor(turns / 4) || results === turns - 100) {
      collect()
      heaps.push(process.memoryUsage().heapUsed)
    }
  }

  const [early = 0, late = 0] = heaps
  expect(heaps).toHaveLength(2)
  expect(late - early).toBeLessThan(2 * 1024 * 1024)
}, 120_000)
