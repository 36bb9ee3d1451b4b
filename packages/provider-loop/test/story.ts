import { type MockProvider, openMockProvider, type Turn } from '@matrix/mock-provider'
import { type DurableEvent, type Event, isPersistedByEmitEvent, loopTools, queueMessage } from '@matrix/protocol'
import { createAnthropicAdapter } from '../src/anthropic-adapter.ts'
import { createMessageQueue, type MessageQueue } from '../src/message-queue.ts'
import { createOpenaiChatAdapter } from '../src/openai-chat-adapter.ts'
import { createOpenaiResponsesAdapter } from '../src/openai-responses-adapter.ts'
import type { Ports } from '../src/ports.ts'
import type { PricingOverrides } from '../src/pricing.ts'
import type { ProviderAdapter } from '../src/provider-adapter.ts'
import { runProviderLoop } from '../src/provider-loop.ts'
import type { AgentRequest, AgentResult } from '../src/run.ts'
import { createLoopTools, type ToolDefinition, textResult } from '../src/tools.ts'

export const dialects = ['anthropic', 'openai-chat', 'openai-responses'] as const
export type Dialect = (typeof dialects)[number]

export const models: Record<Dialect, string> = {
  anthropic: 'claude-sonnet-4-6',
  'openai-chat': 'gpt-5',
  'openai-responses': 'gpt-5',
}

export function createAdapter(
  dialect: Dialect,
  mock: Pick<MockProvider, 'url' | 'openaiUrl'>,
  more: { contextWindow?: number; apiKey?: string; pricing?: PricingOverrides } = {},
): ProviderAdapter {
  const options = { apiKey: 'mock', ...more }
  switch (dialect) {
    case 'anthropic':
      return createAnthropicAdapter({ ...options, baseUrl: mock.url })
    case 'openai-chat':
      return createOpenaiChatAdapter({ ...options, baseUrl: mock.openaiUrl })
    case 'openai-responses':
      return createOpenaiResponsesAdapter({ ...options, baseUrl: mock.openaiUrl })
  }
}

/** A clock that stands still but for what is slept, which takes no time. */
export function stillPorts(): Ports & { slept: number[] } {
  const slept: number[] = []
  return {
    slept,
    now: () => Date.UTC(2026, 0, 1) + slept.reduce((sum, ms) => sum + ms, 0),
    random: () => 0.5,
    sleep: async (ms) => {
      slept.push(ms)
    },
  }
}

export type Story = Partial<Omit<AgentRequest, 'tools'>> & {
  dialect?: Dialect
  turns?: Turn[]
  /** The model is told the same more than once. */
  repeats?: boolean
  mock?: MockProvider
  adapter?: ProviderAdapter
  tools?: ToolDefinition[]
  /** What the user says at once; the queue is closed after it when the agent falls idle. */
  says?: string[]
  queue?: MessageQueue
  /** Run the loop as somebody does who says nothing to it. */
  withoutQueue?: boolean
  /** What is said when the agent falls idle; when nothing is, the queue is closed, which ends the run. */
  onIdle?: (queue: MessageQueue, times: number) => unknown
  onEvent?: (event: Event) => unknown
  contextWindow?: number
  /** Leave the mock open and unchecked. */
  keepMock?: boolean
}

export type Told = {
  events: Event[]
  durable: DurableEvent[]
  types: string[]
  result: AgentResult
  mock: MockProvider
  queue: MessageQueue
  ports: ReturnType<typeof stillPorts>
}

/** Runs an agent against the mock to its end, and checks that the story was told as it was written. */
export async function tell(story: Story): Promise<Told> {
  const dialect = story.dialect ?? 'anthropic'
  const mock = story.mock ?? (await openMockProvider())
  if (story.turns) mock.play({ turns: story.turns, ...(story.repeats && { repeats: true }) })
  const adapter =
    story.adapter ??
    createAdapter(dialect, mock, story.contextWindow === undefined ? {} : { contextWindow: story.contextWindow })
  const messages = (story.says ?? []).map((text, index) => queueMessage.user({ id: `m${index + 1}`, text }))
  const queue = story.queue ?? createMessageQueue()
  for (const message of messages) queue.enqueue(message)
  const ports = stillPorts()
  const { onIdle, onEvent, withoutQueue, repeats: _, tools = [], ...request } = story

  const loop = runProviderLoop(
    adapter,
    {
      taskId: 't1',
      model: models[dialect],
      systemPrompt: 'You are an agent.',
      signal: new AbortController().signal,
      ports,
      ...request,
      tools: [...createLoopTools(), ...tools],
    },
    's1',
    ...(withoutQueue ? [] : [queue]),
  )
  const events: Event[] = []
  let idle = 0
  try {
    let step = await loop.next()
    while (!step.done) {
      events.push(step.value)
      await onEvent?.(step.value)
      if (step.value.type === 'agent_idle') {
        onIdle?.(queue, ++idle)
        if (queue.size === 0) queue.close()
      }
      step = await loop.next()
    }
    if (!story.keepMock) mock.verify()
    const durable = events.filter(isPersistedByEmitEvent)
    return { events, durable, types: events.map((event) => event.type), result: step.value, mock, queue, ports }
  } finally {
    if (!story.adapter) adapter.close()
    if (!story.keepMock) await mock.close()
  }
}

/** The session as it is read back from disk: what the user sent, then what the loop yielded. */
export function session(says: string[], durable: DurableEvent[]): DurableEvent[] {
  const ts = '2026-01-01T00:00:00.000Z'
  const sent = says.map(
    (text, index): DurableEvent => ({
      type: 'message',
      taskId: 't1',
      ts,
      message: queueMessage.user({ id: `m${index + 1}`, text }),
    }),
  )
  return JSON.parse(JSON.stringify([...sent, ...durable]))
}

export const done: Turn = { toolCalls: [{ name: loopTools.done, input: { status: 'passed', summary: 'All done.' } }] }
export const yields: Turn = { toolCalls: [{ name: loopTools.yield, input: {} }] }

/** A tool that answers with what it was asked. */
export const echo: ToolDefinition = {
  name: 'mcp__test__echo',
  description: 'Says it again.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  handler: ({ text }) => textResult(String(text)),
}

export function echoes(...texts: string[]): Turn {
  return { toolCalls: texts.map((text) => ({ name: echo.name, input: { text } })) }
}
