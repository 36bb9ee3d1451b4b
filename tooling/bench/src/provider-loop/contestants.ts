import { fdatasyncSync, openSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Event, isPersistedByEmitEvent, queueMessage } from '@matrix/protocol'
import {
  createAnthropicAdapter,
  createMessageQueue,
  createOpenaiChatAdapter,
  type ProviderAdapter,
  runProviderLoop,
  textResult,
} from '@matrix/provider-loop'
import { type Contestant, contest } from './contest.ts'

const contestants: Record<string, () => Promise<Contestant>> = {
  'matrix-anthropic': async () =>
    matrix((url) => createAnthropicAdapter({ apiKey: 'x', baseUrl: url }), 'claude-sonnet-4-6'),
  'matrix-openai': async () => matrix((url) => createOpenaiChatAdapter({ apiKey: 'x', baseUrl: `${url}/v1` }), 'gpt-5'),
  'matrix-anthropic-durable': async () =>
    matrix((url) => createAnthropicAdapter({ apiKey: 'x', baseUrl: url }), 'claude-sonnet-4-6', openLog),
  'sdk-anthropic': sdkAnthropic,
  'sdk-openai': sdkOpenai,
}

const system = 'You are an agent in a benchmark.'
const schema = { type: 'object' as const, properties: { text: { type: 'string' } } }

function matrix(
  open: (url: string) => ProviderAdapter,
  model: string,
  log?: (agent: number) => (event: Event) => void,
): Contestant {
  let adapter: ProviderAdapter | undefined
  return async (url, turns, agent) => {
    adapter ??= open(url)
    const store = log?.(agent)
    const queue = createMessageQueue([queueMessage.user({ id: 'm1', text: 'Go' })])
    const tools = [
      {
        name: 'echo',
        description: 'Echoes.',
        inputSchema: schema,
        handler: ({ text }: Record<string, unknown>) => textResult(`echo ${text}`),
      },
    ]
    const request = {
      taskId: 't',
      model,
      systemPrompt: system,
      tools,
      signal: new AbortController().signal,
      limits: { maxTurns: turns },
    }
    for await (const event of runProviderLoop(adapter, request, 's', queue)) store?.(event)
  }
}

/** One write and one fdatasync per turn, and one for the results. */
function openLog(agent: number): (event: Event) => void {
  const file = openSync(join(tmpdir(), `matrix-bench-${process.pid}-${agent}.jsonl`), 'w')
  let batch = ''
  return (event) => {
    if (!isPersistedByEmitEvent(event)) return
    batch += `${JSON.stringify(event)}\n`
    if (event.type !== 'turn_completed' && event.type !== 'tool_result') return
    writeSync(file, batch)
    fdatasyncSync(file)
    batch = ''
  }
}

async function sdkAnthropic(): Promise<Contestant> {
  const { default: Anthropic } = await import('@anthropic-ai/sdk')
  let client: InstanceType<typeof Anthropic> | undefined
  return async (url, turns) => {
    client ??= new Anthropic({ apiKey: 'x', baseURL: url })
    const messages: import('@anthropic-ai/sdk').Anthropic.MessageParam[] = [{ role: 'user', content: 'Go' }]
    const tools = [{ name: 'echo', description: 'Echoes.', input_schema: schema }]
    for (let turn = 0; turn < turns; turn += 1) {
      const message = await client.messages
        .stream({ model: 'claude-sonnet-4-6', max_tokens: 1000, system, messages, tools })
        .finalMessage()
      const results = message.content.flatMap((block) =>
        block.type === 'tool_use'
          ? [
              {
                type: 'tool_result' as const,
                tool_use_id: block.id,
                content: `echo ${(block.input as { text: string }).text}`,
              },
            ]
          : [],
      )
      messages.push({ role: 'assistant', content: message.content as never }, { role: 'user', content: results })
    }
  }
}

async function sdkOpenai(): Promise<Contestant> {
  const { default: OpenAI } = await import('openai')
  let client: InstanceType<typeof OpenAI> | undefined
  return async (url, turns) => {
    client ??= new OpenAI({ apiKey: 'x', baseURL: `${url}/v1` })
    const messages: import('openai').OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: system },
      { role: 'user', content: 'Go' },
    ]
    const tools = [
      { type: 'function' as const, function: { name: 'echo', description: 'Echoes.', parameters: schema } },
    ]
    for (let turn = 0; turn < turns; turn += 1) {
      const stream = await client.chat.completions.create({
        model: 'gpt-5',
        messages,
        tools,
        stream: true,
        stream_options: { include_usage: true },
      })
      let content = ''
      const call = { id: '', type: 'function' as const, function: { name: '', arguments: '' } }
      for await (const chunk of stream) {
        const delta = chunk.choices[0]?.delta
        content += delta?.content ?? ''
        const piece = delta?.tool_calls?.[0]
        call.id ||= piece?.id ?? ''
        call.function.name ||= piece?.function?.name ?? ''
        call.function.arguments += piece?.function?.arguments ?? ''
      }
      messages.push(
        { role: 'assistant', content, tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: `echo ${JSON.parse(call.function.arguments).text}` },
      )
    }
  }
}

await contest(contestants)
