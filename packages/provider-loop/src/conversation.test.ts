import { type ApiRequest, checkRequest, openMockProvider } from '@matrix/mock-provider'
import { type DurableEvent, queueMessage } from '@matrix/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { histories, type Step } from '../test/history.ts'
import { createAdapter, type Dialect, dialects } from '../test/story.ts'
import { type Conversation, findOrphanedToolCalls, openConversation, walkEventsToMessages } from './conversation.ts'
import type { ProviderAdapter } from './provider-adapter.ts'

const mock = await openMockProvider()
await mock.close()
const adapters = Object.fromEntries(dialects.map((dialect) => [dialect, createAdapter(dialect, mock)])) as Record<
  Dialect,
  ProviderAdapter
>
const numRuns = Number(process.env.MATRIX_PROPERTY_RUNS ?? 300)

describe.each(dialects)('as %s', (dialect) => {
  const adapter = adapters[dialect]

  test('a replayed conversation is the live one byte for byte, and every request is one that the provider accepts and extends the one before', () => {
    fc.assert(
      fc.property(histories(dialect), (steps) => {
        const live = playLive(steps, dialect)
        const stored: DurableEvent[] = JSON.parse(JSON.stringify(steps.filter((step) => step !== 'request')))
        const replayed = openConversation(adapter)
        for (const event of stored) replayed.apply(event)

        // Thousands of times over, a plain comparison is cheaper than an expectation.
        if (bytes(replayed) !== bytes(live)) expect(bytes(replayed)).toBe(bytes(live))
        const walked = walkEventsToMessages(stored, adapter)
        if (walked.join() !== live.list().join()) expect(walked).toEqual(live.list())
        if (replayed.awaitsModel() !== live.awaitsModel()) expect(replayed.awaitsModel()).toBe(live.awaitsModel())
      }),
      { numRuns },
    )
  }, 600_000)

  test('nothing invisible is said to the model, by whomever, and it is told how much was removed', () => {
    const hidden = 'see\u{E0068}\u{E0069}n\u200B'
    const result: DurableEvent = {
      type: 'tool_result',
      ...stamp,
      callId: 'c1',
      content: [{ type: 'text', text: hidden }],
      isError: true,
    }
    const consumed: DurableEvent = { type: 'messages_consumed', ...stamp, messageIds: ['m1'] }
    const notice: DurableEvent = { type: 'notice', ...stamp, text: hidden }
    const list = walkEventsToMessages(
      [consumedMessage(hidden), consumed, toolCall('c1', 'x'), completed, result, notice],
      adapter,
    ).join()

    expect(list).not.toMatch(/[\u{E0000}-\u{E007F}\u200B]/u)
    expect(list.match(/seen/g)).toHaveLength(3)
    expect(list.match(/3 invisible characters were removed/g)).toHaveLength(3)
  })

  test('old tool names are read as the new ones', () => {
    const list = walkEventsToMessages([consumedMessage('Go'), toolCall('c1', 'bash'), completed], adapter).join()

    expect(list).toContain('"mcp__mxd__bash"')
  })

  test('after a fork the child knows that it is the child, and the parent does not hear of it', () => {
    const parent = [consumedMessage('Go'), toolCall('c1', 'mcp__mxd__fork_task_context'), completed]
    const marker: DurableEvent = {
      type: 'fork_marker',
      ...stamp,
      sourceTaskId: 't0',
      title: 'Printer',
      description: 'Print it.',
      worktreePath: '/w/printer',
    }
    const child = walkEventsToMessages([...parent, marker, consumedMessage('Start', 'm2')].flat(), adapter).join()

    expect(child).toContain('You are the CHILD.')
    expect(child).toContain(
      'You are now the agent of the task \\"Printer\\".\\nYour working directory: /w/printer\\nPrint it.',
    )
    expect(walkEventsToMessages(parent, adapter).join()).not.toContain('CHILD')
  })

  test('a conversation that is taken back into the middle of an answer keeps its words, and is told', () => {
    const asked = [consumedMessage('Go'), { type: 'assistant_text' as const, ...stamp, text: 'I look at it.' }].flat()
    const marker: DurableEvent = { type: 'rewind_marker', ...stamp, upTo: 4 }
    const list = walkEventsToMessages([...asked, toolCall('c1', 'mcp__mxd__bash'), marker], adapter).join()

    for (const words of ['I look at it.', 'may or may not have taken effect', 'was taken back to this point'])
      expect(list).toContain(words)
  })
})

test('calls without a result are found, and only they', () => {
  const result: DurableEvent = { type: 'tool_result', ...stamp, callId: 'c1', content: [], isError: false }

  expect(findOrphanedToolCalls([toolCall('c1', 'a'), toolCall('c2', 'b'), result]).map((call) => call.callId)).toEqual([
    'c2',
  ])
  expect(findOrphanedToolCalls([toolCall('c1', 'a'), { type: 'compact_marker', ...stamp, checkpoint: '' }])).toEqual([])
})

const stamp = { taskId: 't1', ts: '2026-01-01T00:00:00.000Z' }
const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 }
const completed: DurableEvent = {
  type: 'turn_completed',
  ...stamp,
  model: 'm',
  stopReason: 'tool_use',
  usage,
  costUsd: 0,
}

function toolCall(callId: string, name: string): DurableEvent {
  return { type: 'tool_call', ...stamp, callId, name, input: {} }
}

function consumedMessage(text: string, id = 'm1'): DurableEvent {
  return { type: 'message', ...stamp, message: queueMessage.user({ id, text }) }
}

function bytes(conversation: Conversation): string {
  const { closed, open, userEnd } = conversation.messages()
  return `${(closed as Buffer).toString('utf8')}|${open}|${userEnd}`
}

const preambles = Object.fromEntries(
  dialects.map((dialect) => [dialect, Buffer.from(adapters[dialect].prepareTools([], 'System')).toString()]),
)

function bodyText(conversation: Conversation, dialect: Dialect): string {
  const { closed, open } = conversation.messages()
  return `${preambles[dialect]}${(closed as Buffer).toString('utf8')}${open}],"model":"m","max_tokens":1}`
}

/** The conversation as it grows, each request checked as the provider would, and held against the one before. */
function playLive(steps: Step[], dialect: Dialect): Conversation {
  const live = openConversation(adapters[dialect])
  let before: ApiRequest | undefined
  let asked = ''
  for (const step of steps) {
    if (step !== 'request') live.apply(step)
    // The loop never asks while a call is without a result; a crash may leave it so all the same.
    else if (live.messages().open !== '' && live.pendingCalls().length === 0) {
      const text = bodyText(live, dialect)
      if (text !== asked) before = checkRequest(dialect, JSON.parse(text), before)
      asked = text
    }
    if (isMarker(step)) before = undefined
  }
  return live
}

function isMarker(step: Step): boolean {
  return step !== 'request' && step.type === 'compact_marker'
}
