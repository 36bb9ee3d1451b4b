import { openMockProvider } from '@matrix/mock-provider'
import { type DurableEvent, queueMessage } from '@matrix/protocol'
import { describe, expect, test } from 'vitest'
import { dialects, done, echo, session, tell } from '../test/story.ts'
import { checkpointSections } from './compaction.ts'
import { createMessageQueue } from './message-queue.ts'

const stamp = { taskId: 't1', ts: '2026-01-01T00:00:00.000Z' }
const requested: DurableEvent = { type: 'config_requested', ...stamp, by: 'user' }
const summary = { text: `<summary>${checkpointSections.map((name) => `## ${name}\nNone.`).join('\n')}</summary>` }

describe.each(dialects)('through %s', (dialect) => {
  test('a session keeps its configuration when it is resumed, until another one is asked for', async () => {
    const mock = await openMockProvider()
    const first = await tell({ dialect, mock, keepMock: true, says: ['Hello'], turns: [{ text: 'Yes?' }] })
    const before = session(['Hello'], first.durable)
    const changed = { dialect, mock, keepMock: true, systemPrompt: 'You are another.', tools: [echo] }
    const go = { ...changed, turns: [{ text: 'Fine.' }], queue: createMessageQueue([say('a', 'Go on')]) }
    const kept = await tell({ ...go, events: before })
    const again = { ...changed, turns: [{ text: 'New.' }], queue: createMessageQueue([say('a', 'Go on')]) }
    const taken = await tell({ ...again, events: [...before, requested] })
    const [opening, same, other] = mock.requests.map(({ body }) => body)
    await mock.close()

    expect(configs(kept.durable)).toEqual([])
    expect(same).not.toContain('You are another.')
    expect(configs(taken.durable)).toEqual([
      { systemPrompt: 'You are another.', tools: expect.arrayContaining([echo.name]) },
    ])
    expect(other).toContain('You are another.')
    expect(opening).toContain('You are an agent.')
    // What was said stays as it was said: only what stands before it is new.
    expect(spoken(other)).toEqual(spoken(same))
  })

  test('a compaction takes the configuration of now', async () => {
    const first = await tell({ dialect, says: ['Hello'], turns: [{ text: 'Yes?' }] })
    const { durable } = await tell({
      dialect,
      events: session(['Hello'], first.durable),
      systemPrompt: 'You are another.',
      tools: [echo],
      queue: createMessageQueue([say('a', 'Go on'), queueMessage.compact({ id: 'c1' })]),
      turns: [
        { ...summary, assert: { system: 'You are an agent.' } },
        { fresh: true, assert: { system: 'You are another.', tools: [echo.name] }, ...done },
      ],
    })

    expect(configs(durable)).toEqual([{ systemPrompt: 'You are another.', tools: expect.arrayContaining([echo.name]) }])
    const types = durable.map(({ type }) => type)
    expect(types.slice(types.indexOf('compact_marker'))).toEqual(
      expect.arrayContaining(['compact_marker', 'session_config', 'compacted_resume']),
    )
  })
})

function say(id: string, text: string) {
  return queueMessage.user({ id, text })
}

function configs(events: DurableEvent[]) {
  return events.flatMap((event) =>
    event.type === 'session_config'
      ? [{ systemPrompt: event.systemPrompt, tools: event.tools.map(({ name }) => name) }]
      : [],
  )
}

function spoken(body: string | undefined): unknown[] {
  const { messages, input } = JSON.parse(body ?? '{}') as { messages?: { role: string }[]; input?: { role?: string }[] }
  return [...(messages ?? []), ...(input ?? [])].filter(({ role }) => role !== 'system' && role !== 'developer')
}
