import { type MockProvider, openMockProvider, parsePlaybook, recordConversation } from '@matrix/mock-provider'
import { type DurableEvent, isPersistedByEmitEvent, type QueueMessage } from '@matrix/protocol'
import {
  createAnthropicAdapter,
  createLoopTools,
  createMessageQueue,
  runProviderLoop,
  type ToolDefinition,
} from '@matrix/provider-loop'
import { expect, onTestFinished, test } from 'vitest'
import { bundleProgram, liveOnce, openStage, readSessions } from './killed-story.testing.ts'
import { buildStory, goal } from './story.ts'

test('every session of the demo becomes a playbook that replays to the same requests, byte for byte', {
  timeout: 180_000,
}, async () => {
  const program = await bundleProgram()
  onTestFinished(() => program.remove())
  const stage = await openStage(buildStory(), goal, { forgetful: false })
  onTestFinished(() => stage.close())
  await liveOnce(program.file, stage)
  const replayed: string[][] = []
  for (const { events } of readSessions(stage.dataDirectory)) replayed.push(await replay(events))

  const { requests } = stage.mock
  const names = new Set(requests.map(({ conversation }) => conversation))
  const live = [...names].map((name) =>
    requests.filter(({ conversation }) => conversation === name).map(({ body }) => body),
  )
  expect(replayed.toSorted()).toEqual(live.toSorted())
  expect([replayed.length, replayed.flat().length > 30]).toEqual([4, true])
})

/** Lets an agent live through a recorded session again, and answers what it asked for. */
async function replay(events: DurableEvent[]): Promise<string[]> {
  const playbook = parsePlaybook(JSON.stringify({ conversations: [recordConversation(events)] }))
  const mock = await openMockProvider({ playbook })
  await relive(events, mock)
  mock.verify()
  await mock.close()
  return mock.requests.map(({ body }) => body)
}

/** What was said to it is said again after as many turns as then, and its tools answer what they did then. */
async function relive(events: DurableEvent[], mock: MockProvider): Promise<void> {
  const config = events.find((event) => event.type === 'session_config')
  if (!config) throw new Error('The session has no configuration.')
  const { taskId, ts, model, systemPrompt } = config
  const heard = messagesByTurn(events)
  const adapter = createAnthropicAdapter({ apiKey: 'mock', baseUrl: mock.url })
  const tools = config.tools.map((spec): ToolDefinition => ({ ...spec, handler: answerFrom(events, spec.name) }))
  const request = { taskId, model, systemPrompt, tools, signal: new AbortController().signal }
  // Where it works and what is remembered there is told to an agent before anybody speaks to it.
  const disk = events
    .slice(
      0,
      events.findIndex((event) => event.type === 'messages_consumed'),
    )
    .filter(({ type }) => type === 'notice')
  const said = (turn: number) => {
    const messages = heard[turn] ?? []
    disk.push(...messages.map((message) => ({ type: 'message' as const, taskId, ts, message })))
    return messages
  }
  // An agent that was done is woken by who speaks to it later.
  for (let turns = 0, next = said(0); turns < heard.length - 1; ) {
    const queue = createMessageQueue(next)
    for await (const event of runProviderLoop(adapter, { ...request, events: [...disk] }, taskId, queue)) {
      if (isPersistedByEmitEvent(event)) disk.push(event)
      if (event.type === 'agent_idle') throw new Error(`Nobody spoke after turn ${turns}.`)
      if (event.type !== 'turn_completed') continue
      turns += 1
      next = said(turns)
      for (const message of next) queue.enqueue(message)
    }
  }
  adapter.close()
}

function messagesByTurn(events: DurableEvent[]): QueueMessage[][] {
  const stored = new Map(
    events.flatMap((event) => (event.type === 'message' ? [[event.message.id, event.message]] : [])),
  )
  const heard: QueueMessage[][] = [[]]
  for (const event of events) {
    if (event.type === 'turn_completed') heard.push([])
    if (event.type !== 'messages_consumed') continue
    heard.at(-1)?.push(...event.messageIds.flatMap((id) => stored.get(id) ?? []))
  }
  return heard
}

function answerFrom(events: DurableEvent[], name: string): ToolDefinition['handler'] {
  const own = createLoopTools().find((tool) => tool.name === name)
  return async (input, extra) => {
    const then = events.find((event) => event.type === 'tool_result' && event.callId === extra.toolCallId)
    if (then?.type !== 'tool_result') throw new Error(`No result of ${extra.toolCallId} was recorded.`)
    return { ...(await own?.handler(input, extra)), content: then.content, isError: then.isError }
  }
}
