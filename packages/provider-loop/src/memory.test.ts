import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Fault, openMockProvider, type Playbook } from '@matrix/mock-provider'
import { type Event, queueMessage } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { createScriptedAdapter } from '../test/scripted-adapter.ts'
import { createAdapter, dialects, echo, models, stillPorts } from '../test/story.ts'
import { checkpointSections } from './compaction.ts'
import { createMessageQueue } from './message-queue.ts'
import type { ProviderAdapter } from './provider-adapter.ts'
import { runProviderLoop } from './provider-loop.ts'
import { textResult } from './tools.ts'

const thorough = Number(process.env.MATRIX_PROPERTY_RUNS ?? 0) >= 10_000
const summary = `<summary>${checkpointSections.join()} {{place}}</summary>`

test('memory stays flat over thousands of turns', async () => {
  let asked = 0
  const adapter = createScriptedAdapter('anthropic', (request) => {
    if (request.slice(-3000).includes('inside <summary>')) return { text: summary, calls: [], stopReason: 'end_turn' }
    asked += 1
    return {
      text: 'Next.',
      calls: [{ callId: `c${asked}`, name: echo.name, input: { text: `${asked}` } }],
      stopReason: 'tool_use',
    }
  })
  const { growth } = await run(adapter, thorough ? 10_000 : 600, 'm', (event) => {
    if (event.type === 'compact_marker') adapter.forget()
    adapter.requests.length = 0
  })

  expect(growth).toBeLessThan(2 * 1024 * 1024)
}, 120_000)

test.each(dialects)(
  'hundreds of turns over %s, many of them failing at first, leave no memory, listener, timer or connection behind',
  async (dialect) => {
    const warnings: Error[] = []
    const unhandled: unknown[] = []
    const warn = (warning: Error) => warnings.push(warning)
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('warning', warn)
    process.on('unhandledRejection', note)
    const before = process.getActiveResourcesInfo()
    const mock = await openMockProvider({ playbook, forgetful: true })
    const adapter = createAdapter(dialect, mock)
    const { growth, listeners } = await run(adapter, thorough ? 500 : 200, models[dialect])
    adapter.close()
    await mock.close()
    const left = await leftovers(before)
    process.off('warning', warn)
    process.off('unhandledRejection', note)

    expect(mock.problems).toEqual([])
    expect(growth).toBeLessThan(4 * 1024 * 1024)
    expect(listeners).toBe(0)
    expect(left).toEqual([])
    expect({ warnings, unhandled }).toEqual({ warnings: [], unhandled: [] })
  },
  120_000,
)

const faults: Fault[] = [
  { kind: 'cut', afterEvents: 3 },
  { kind: 'status', status: 529 },
  { kind: 'disconnect' },
  { kind: 'garbage' },
  { kind: 'truncate', afterEvents: 4 },
  { kind: 'error_event', afterEvents: 3 },
]

const playbook: Playbook = {
  stateless: true,
  asides: [{ when: 'inside <summary>', text: summary }],
  conversations: [
    {
      repeat: true,
      turns: Array.from({ length: 40 }, (_, index) => ({
        text: 'Next.',
        toolCalls: [{ name: echo.name, input: { text: `${index}` } }],
        faults: [faults[index % faults.length]].flatMap((fault) => fault ?? []),
      })),
    },
  ],
}

/** Lets an agent call a tool so many times, and a person ask for a summary now and then. */
async function run(
  adapter: ProviderAdapter,
  turns: number,
  model: string,
  onEvent: (event: Event) => void = () => {},
): Promise<{ growth: number; listeners: number }> {
  let called = 0
  const tool = { ...echo, handler: () => textResult(`${++called} ${'x'.repeat(200)}`) }
  const queue = createMessageQueue([queueMessage.user({ id: 'm1', text: 'Go' })])
  const { signal } = new AbortController()
  const limits = { maxTurns: turns }
  const ports = forgetfulPorts()
  const request = { taskId: 't1', model, systemPrompt: 'S', tools: [tool], signal, ports, limits, onSpeech: onEvent }
  const heaps: number[] = []
  let results = 0
  for await (const event of runProviderLoop(adapter, request, 's1', queue)) {
    onEvent(event)
    if (event.type === 'error' && event.code !== 'LIMIT_REACHED') throw new Error(event.message)
    if (event.type !== 'tool_result') continue
    results += 1
    if (results % 50 === 0) queue.enqueue(queueMessage.compact({ id: `compact${results}` }))
    if (results === Math.floor(turns / 2) || results === Math.floor(turns * 0.9)) heaps.push(heapUsed())
  }
  const [early = 0, late = 0] = heaps
  expect(heaps).toHaveLength(2)
  return { growth: late - early, listeners: getEventListeners(signal, 'abort').length }
}

/** What was slept is of no interest here, and would itself grow. */
function forgetfulPorts() {
  return { ...stillPorts(), now: () => Date.UTC(2026, 0, 1), sleep: async () => {} }
}

function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  collect()
  return process.memoryUsage().heapUsed
}

/** What keeps the process busy now and did not before; connections take a few moments to close. */
async function leftovers(before: string[]): Promise<string[]> {
  const deadline = performance.now() + 20_000
  for (;;) {
    const known = [...before]
    const left = process.getActiveResourcesInfo().filter((kind) => {
      const index = known.indexOf(kind)
      if (index >= 0) known.splice(index, 1)
      return index < 0 && kind !== 'Immediate'
    })
    if (left.length === 0 || performance.now() > deadline) return left
    await new Promise((resolve) => setImmediate(resolve))
  }
}
