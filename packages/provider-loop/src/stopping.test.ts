import { getEventListeners } from 'node:events'
import { type MockProvider, openMockProvider, type Turn } from '@matrix/mock-provider'
import { type DurableEvent, isPersistedByEmitEvent, loopTools, type QueueMessage, queueMessage } from '@matrix/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createScriptedAdapter, type ScriptedAnswer } from '../test/scripted-adapter.ts'
import { createAdapter, dialects, echo, echoes, done as finish, models, stillPorts } from '../test/story.ts'
import { createBudget } from './budget.ts'
import { checkpointSections } from './compaction.ts'
import { createMessageQueue } from './message-queue.ts'
import type { ProviderAdapter } from './provider-adapter.ts'
import { runProviderLoop } from './provider-loop.ts'
import type { AgentResult } from './run.ts'
import { createLoopTools, type ToolDefinition, textResult } from './tools.ts'

const thorough = process.env.MATRIX_PROPERTY_RUNS !== undefined
const unhandled: unknown[] = []
const note = (reason: unknown) => unhandled.push(reason)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => void process.off('unhandledRejection', note))

test('stopped at every await there is, an agent ends, loses nothing, repeats nothing and goes on to its end', async () => {
  let stops = 0
  for (let afterMicrotasks = 0, more = true; more; afterMicrotasks += 1) {
    const disk: DurableEvent[] = []
    const executed: string[] = []
    const adapter = createScriptedAdapter('anthropic', createStory())
    const first = await live(adapter, 'm', disk, executed, (stop) => void afterTurnsOfQueue(afterMicrotasks, stop))
    more = first.exitReason === 'interrupted'
    stops += more ? 1 : 0
    adapter.forget()
    const last = more ? await live(adapter, 'm', disk, executed) : first

    expect(last.exitReason, `stopped after ${afterMicrotasks} microtasks`).toBe('done_passed')
    check(disk, executed)
  }
  expect(stops).toBeGreaterThan(100)
  expect(unhandled).toEqual([])
}, 300_000)

const faults: [what: string, Partial<Turn>][] = [
  ['nothing wrong', {}],
  ['429', { faults: [{ kind: 'status', status: 429, retryAfter: '1' }] }],
  ['500', { faults: [{ kind: 'status', status: 500 }] }],
  ['529', { faults: [{ kind: 'status', status: 529 }] }],
  ['a cut stream', { faults: [{ kind: 'cut', afterEvents: 4 }] }],
  ['a stream that ends too early', { faults: [{ kind: 'truncate', afterEvents: 4 }] }],
  ['an error in the stream', { faults: [{ kind: 'error_event', afterEvents: 4 }] }],
  ['garbage', { faults: [{ kind: 'garbage' }] }],
  ['no connection', { faults: [{ kind: 'disconnect' }] }],
  ['slow bytes', { chunkSize: 8, chunkDelayMs: 1 }],
  ['no answer at all', { faults: [{ kind: 'silence' }] }],
]
// Without thoroughness, the fault that leaves most behind.
const cases = dialects.flatMap((dialect) =>
  faults
    .filter(([what]) => thorough || what === 'a cut stream')
    .map(([what, fault]) => [dialect, what, fault] as const),
)

test.each(cases)(
  'stopped at any tick while it talks over %s, with %s in every turn, an agent ends at once and goes on later',
  async (dialect, _, fault) => {
    for (let ticks = 0, more = true; more; ticks += 1) {
      const mock = await openMockProvider({
        turns: [{ text: 'Let me see.', ...fault, ...echoes('one') }, { ...fault, ...finish }, finish],
      })
      const adapter = createAdapter(dialect, mock)
      const disk: DurableEvent[] = []
      const executed: string[] = []
      const run = (begin: (stop: () => void) => void) => live(adapter, models[dialect], disk, executed, begin)
      let result = await run((stop) => void afterTicks(ticks, stop, fault.chunkDelayMs))
      more = result.exitReason === 'interrupted' && ticks < mostTicks
      for (let lives = 1; result.exitReason === 'interrupted' && lives < 4; lives += 1) {
        const over = new AbortController()
        result = await run((stop) => void (isSilent(fault) && stopUnanswered(mock, stop, over.signal)))
        over.abort()
      }

      expect(result.exitReason, `stopped after ${ticks} ticks`).toBe('done_passed')
      expect(mock.problems).toEqual([])
      check(disk, executed)
      adapter.close()
      await mock.close()
    }
    expect(unhandled).toEqual([])
  },
  300_000,
)

const mostTicks = 300

function isSilent({ faults }: Partial<Turn>): boolean {
  return faults?.[0]?.kind === 'silence'
}

/** The first request of each turn is not answered, the second is. */
async function stopUnanswered({ requests }: MockProvider, stop: () => void, over: AbortSignal): Promise<void> {
  const before = requests.length
  while (!over.aborted && (requests.length === before || requests.length % 2 === 0))
    await new Promise((resolve) => setImmediate(resolve))
  stop()
}

/** A little of everything that waits: retry, tools at once, a summary, silence, and the end. */
function createStory(): (request: string) => ScriptedAnswer {
  let asked = 0
  const call = (name: string, index: number, input = {}) => ({ callId: `call${asked}-${index}`, name, input })
  return (request) => {
    if (request.slice(-2500).includes('inside <summary>'))
      return { text: `<summary>${checkpointSections.join()}</summary>`, calls: [], stopReason: 'end_turn' }
    asked += 1
    if (asked === 1) return 'broken'
    if (asked === 2) return { text: 'Two.', calls: [call(echo.name, 0), call(echo.name, 1)], stopReason: 'tool_use' }
    if (asked === 3) return { text: 'Waiting.', calls: [], stopReason: 'end_turn' }
    return {
      text: '',
      calls: [call(loopTools.done, 0, { status: 'passed', summary: 'Done.' })],
      stopReason: 'tool_use',
    }
  }
}

async function live(
  adapter: ProviderAdapter,
  model: string,
  disk: DurableEvent[],
  executed: string[],
  begin: (stop: () => void) => void = () => {},
): Promise<AgentResult> {
  const controller = new AbortController()
  const send = (message: QueueMessage) => {
    disk.push({ type: 'message', taskId: 't1', ts: '2026-01-01T00:00:00.000Z', message })
    queue.enqueue(message)
  }
  const queue = createMessageQueue(pendingIn(disk))
  if (disk.length === 0) send(queueMessage.user({ id: 'm1', text: 'Go' }))
  const counting: ToolDefinition = {
    ...echo,
    handler: async (_, { toolCallId }) => {
      executed.push(toolCallId)
      await null
      return textResult(`result of ${toolCallId}`)
    },
  }
  const loop = runProviderLoop(
    adapter,
    {
      taskId: 't1',
      model,
      systemPrompt: 'You are an agent.',
      tools: [...createLoopTools(), counting],
      signal: controller.signal,
      events: disk.slice(disk.findLastIndex((event) => event.type === 'compact_marker') + 1),
      ports: stillPorts(),
      retry: { attempts: 20 },
      budget: createBudget({ limits: { tokens: 100_000_000 } }),
      readMemory: async () => 'Memory.',
    },
    's1',
    queue,
  )
  begin(() => controller.abort())
  const batch: DurableEvent[] = []
  for (let step = await loop.next(); ; step = await loop.next()) {
    if (step.done) {
      expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
      return step.value
    }
    const event = step.value
    if (isPersistedByEmitEvent(event)) batch.push(JSON.parse(JSON.stringify(event)))
    if (batch[0]?.type !== 'compact_marker' || event.type === 'compacted_resume') disk.push(...batch.splice(0))
    if (event.type === 'compact_marker' && 'forget' in adapter) (adapter.forget as () => void)()
    if (event.type === 'agent_idle' && queue.size === 0) {
      send(queueMessage.compact({ id: `compact${disk.length}` }))
      send(queueMessage.user({ id: `wake${disk.length}`, text: 'Go on' }))
    }
  }
}

function check(disk: DurableEvent[], executed: string[]): void {
  const ids = (type: 'tool_call' | 'tool_result') =>
    disk.flatMap((event) => (event.type === type && 'callId' in event ? [event.callId] : []))
  expect(new Set(executed).size).toBe(executed.length)
  expect(new Set(ids('tool_call')).size).toBe(ids('tool_call').length)
  expect(ids('tool_result').toSorted()).toEqual(ids('tool_call').toSorted())
  const consumed = disk.flatMap((event) => (event.type === 'messages_consumed' ? event.messageIds : []))
  expect(new Set(consumed).size).toBe(consumed.length)
}

function pendingIn(disk: DurableEvent[]): QueueMessage[] {
  const consumed = new Set(disk.flatMap((event) => (event.type === 'messages_consumed' ? event.messageIds : [])))
  const messages = disk.flatMap((event) => (event.type === 'message' ? [event.message] : []))
  return [...new Map(messages.map((message) => [message.id, message])).values()].filter(({ id }) => !consumed.has(id))
}

async function afterTurnsOfQueue(count: number, stop: () => void): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await null
  stop()
}

/** Ticks of the event loop, or of the clock for what goes on by the clock. */
async function afterTicks(count: number, stop: () => void, ms?: number): Promise<void> {
  for (let tick = 0; tick < count; tick += 1)
    await new Promise((resolve) => (ms === undefined ? setImmediate(resolve) : setTimeout(resolve, ms)))
  stop()
}
