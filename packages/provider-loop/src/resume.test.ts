import { getEventListeners } from 'node:events'
import {
  type DurableEvent,
  type Event,
  isPersistedByEmitEvent,
  loopTools,
  type QueueMessage,
  queueMessage,
} from '@matrix/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createScriptedAdapter, type ScriptedAnswer } from '../test/scripted-adapter.ts'
import { type Dialect, dialects, echo, stillPorts } from '../test/story.ts'
import { checkpointSections } from './compaction.ts'
import { createMessageQueue } from './message-queue.ts'
import type { ToolUse } from './provider-adapter.ts'
import { runProviderLoop } from './provider-loop.ts'
import type { AgentResult } from './run.ts'
import { createLoopTools, type ToolDefinition, textResult } from './tools.ts'

/** A life with crashes costs about as much as ten histories. */
const numRuns = Math.ceil(Number(process.env.MATRIX_PROPERTY_RUNS ?? 300) / 10)

describe.each(dialects)('through %s', (dialect) => {
  test('killed at any event, any number of times, an agent loses no message, hears none twice, and runs no call twice', async () => {
    await fc.assert(
      fc.asyncProperty(stories, (story) => live(dialect, story)),
      { numRuns },
    )
  }, 600_000)
})

type Story = {
  /** What the model does, call by call; after that it is done. */
  answers: ('text' | 'calls' | 'yield' | 'empty' | 'cut' | 'broken')[]
  /** After how many events each message is sent. */
  messages: { at: number; compact: boolean }[]
  /** After how many events of its life the agent is killed, life by life, and whether the last event was stored. */
  kills: { after: number; stored: boolean }[]
}

const stories: fc.Arbitrary<Story> = fc.record({
  answers: fc.array(fc.constantFrom('text', 'calls', 'yield', 'empty', 'cut', 'broken'), { maxLength: 8 }),
  messages: fc.array(fc.record({ at: fc.nat(60), compact: fc.boolean() }), { maxLength: 6 }),
  kills: fc.array(fc.record({ after: fc.nat(25), stored: fc.boolean() }), { maxLength: 4 }),
})

/** Plays a story to its end, as an orchestrator with a disk would, and checks what must hold. */
async function live(dialect: Dialect, { answers, messages, kills }: Story): Promise<void> {
  const disk: DurableEvent[] = []
  const executed: string[] = []
  const counting: ToolDefinition = {
    ...echo,
    handler: (_, { toolCallId }) => {
      executed.push(toolCallId)
      return textResult(`result of ${toolCallId}`)
    },
  }
  let asked = 0
  const adapter = createScriptedAdapter(dialect, (request) => {
    const open = request.slice(request.lastIndexOf('"role":"user"'))
    if (open.includes('inside <summary>') || open.includes('inside <summary> tags'))
      return { text: summary, calls: [], stopReason: 'end_turn' }
    asked += 1
    return toAnswer(answers[asked - 1] ?? 'done', asked)
  })
  const unsent = messages.map(({ at, compact }, index): { at: number; message: QueueMessage } => ({
    at,
    message: compact
      ? queueMessage.compact({ id: `c${index}` })
      : queueMessage.user({ id: `m${index}`, text: `<message ${index}>` }),
  }))
  let seen = 0
  let result: AgentResult | undefined

  for (let lives = 0; !result; lives += 1) {
    const queue = createMessageQueue(pendingIn(disk))
    const send = (message: QueueMessage) => {
      disk.push({ type: 'message', taskId: 't1', ts: '2026-01-01T00:00:00.000Z', message })
      queue.enqueue(message)
    }
    if (lives === 0) send(queueMessage.user({ id: 'first', text: '<message first>' }))
    const controller = new AbortController()
    const loop = runProviderLoop(adapter, request([counting], controller.signal, activeIn(disk)), 's1', queue)
    const kill = kills[lives]
    let events = 0
    for (let step = await loop.next(); ; step = await loop.next()) {
      if (step.done) {
        result = step.value
        break
      }
      const event: Event = step.value
      seen += 1
      if (seen > 3000) throw new Error('the agent goes on for ever')
      const dies = kill !== undefined && events++ === kill.after
      if (isPersistedByEmitEvent(event) && (!dies || kill.stored)) {
        disk.push(JSON.parse(JSON.stringify(event)))
        if (event.type === 'compact_marker') adapter.forget()
      }
      if (dies) {
        await loop.return(undefined as never)
        break
      }
      for (const { message } of unsent.filter(({ at }) => at <= seen)) send(message)
      unsent.splice(0, unsent.length, ...unsent.filter(({ at }) => at > seen))
      if (event.type === 'agent_idle' && queue.size === 0)
        send(unsent.shift()?.message ?? queueMessage.user({ id: `wake${seen}`, text: `<wake ${seen}>` }))
    }
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  }

  expect(result.exitReason).toBe('done_passed')
  expect(new Set(executed).size).toBe(executed.length)
  const consumed = disk.flatMap((event) => (event.type === 'messages_consumed' ? event.messageIds : []))
  expect(new Set(consumed).size).toBe(consumed.length)
  expect(new Set([...consumed, ...pendingIn(disk).map(({ id }) => id)])).toEqual(
    new Set(disk.flatMap((event) => (event.type === 'message' ? [event.message.id] : []))),
  )
  // Once as it was heard, and once in the ledger of what the user asked for.
  for (const body of adapter.requests)
    for (const [text, times] of countMessages(body)) if (times > 2) expect.fail(`${text} is ${times} times in ${body}`)
}

function countMessages(body: string): Map<string, number> {
  const times = new Map<string, number>()
  for (const text of body.match(/<message \w+>/g) ?? []) times.set(text, (times.get(text) ?? 0) + 1)
  return times
}

const summary = `<summary>${checkpointSections.join('\n')}</summary>`

function toAnswer(kind: Story['answers'][number] | 'done', count: number): ScriptedAnswer {
  const call = (name: string, index: number, input: ToolUse['input'] = {}): ToolUse => ({
    callId: `call${count}-${index}`,
    name,
    input,
  })
  switch (kind) {
    case 'broken':
      return 'broken'
    case 'text':
      return { text: `Text ${count}`, calls: [], stopReason: 'end_turn' }
    case 'empty':
      return { text: '', calls: [], stopReason: 'end_turn' }
    case 'cut':
      return { text: `Cut ${count}`, calls: [], stopReason: 'max_tokens' }
    case 'calls':
      return { text: `Call ${count}`, calls: [call(echo.name, 0), call(echo.name, 1)], stopReason: 'tool_use' }
    case 'yield':
      return { text: '', calls: [call(echo.name, 0), call(loopTools.yield, 1)], stopReason: 'tool_use' }
    case 'done':
      return {
        text: '',
        calls: [call(loopTools.done, 0, { status: 'passed', summary: 'Done.' })],
        stopReason: 'tool_use',
      }
  }
}

function pendingIn(disk: DurableEvent[]): QueueMessage[] {
  const consumed = new Set(disk.flatMap((event) => (event.type === 'messages_consumed' ? event.messageIds : [])))
  const pending = new Map(
    disk.flatMap((event) =>
      event.type === 'message' && !consumed.has(event.message.id) ? [[event.message.id, event.message]] : [],
    ),
  )
  return [...pending.values()]
}

function activeIn(disk: DurableEvent[]): DurableEvent[] {
  return disk.slice(disk.findLastIndex((event) => event.type === 'compact_marker') + 1)
}

function request(tools: ToolDefinition[], signal: AbortSignal, events: DurableEvent[]) {
  return {
    taskId: 't1',
    model: 'm',
    systemPrompt: 'You are an agent.',
    tools: [...createLoopTools(), ...tools],
    signal,
    events,
    ports: stillPorts(),
    retry: { attempts: 20 },
  }
}
