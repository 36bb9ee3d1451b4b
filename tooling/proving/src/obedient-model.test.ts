import Anthropic from '@anthropic-ai/sdk'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ObedientModel, orderSteps, startObedientModel } from './obedient-model.ts'

let model: ObedientModel
beforeEach(async () => {
  model = await startObedientModel()
})
afterEach(() => model.close())

test('the model calls the tools it was told to, one after the other, and then rests', async () => {
  const command = `echo "${'long '.repeat(50)}"`
  const order = orderSteps([
    { tool: 'bash', input: { command } },
    { tool: 'done', input: { status: 'passed' } },
  ])
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: order }]
  const first = await ask(messages)
  answer(messages, first)
  const second = await ask(messages)
  answer(messages, second)

  expect(first).toMatchObject({ stop_reason: 'tool_use', content: [{ name: 'mcp__x__bash', input: { command } }] })
  expect(second).toMatchObject({ content: [{ name: 'done', input: { status: 'passed' } }] })
  expect(await ask(messages)).toMatchObject({ stop_reason: 'end_turn', content: [{ type: 'text' }] })
  expect(model.complaints).toEqual([])
})

test('a request that the API would refuse is refused and remembered', async () => {
  const result = { type: 'tool_result' as const, tool_use_id: 'toolu_never_called', content: 'hello' }

  await expect(ask([{ role: 'user', content: [result] }])).rejects.toThrow('answers [toolu_never_called]')
  await expect(ask([{ role: 'assistant', content: 'hello' }])).rejects.toThrow('not from the user')
  await expect(ask([{ role: 'user', content: orderSteps([{ tool: 'fly', input: {} }]) }])).rejects.toThrow(
    'No tool fly',
  )
  expect(model.complaints).toHaveLength(3)
})

function ask(messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> {
  const client = new Anthropic({ apiKey: 'obedient', baseURL: model.url, maxRetries: 0 })
  const tools = ['mcp__x__bash', 'done'].map((name) => ({ name, input_schema: { type: 'object' as const } }))
  return client.messages.stream({ model: 'obedient', max_tokens: 1000, messages, tools }).finalMessage()
}

function answer(messages: Anthropic.MessageParam[], { content }: Anthropic.Message): void {
  const results = content.flatMap((block) =>
    block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'fine' }] : [],
  )
  messages.push({ role: 'assistant', content }, { role: 'user', content: results })
}
