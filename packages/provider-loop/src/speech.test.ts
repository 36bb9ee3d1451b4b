import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { queueMessage } from '@matrix/protocol'
import { afterEach, expect, test } from 'vitest'
import { createAnthropicAdapter } from './anthropic-adapter.ts'
import { createMessageQueue } from './message-queue.ts'
import { runProviderLoop } from './provider-loop.ts'
import { type AgentRequest, timestamp } from './run.ts'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

test('who stops listening in the middle of an answer ends the request', async () => {
  let closed = false
  const { adapter, request, queue } = await openAgent((response) => {
    response.on('close', () => {
      closed = true
    })
    say(response, 'message_start', 'content_block_start', 'content_block_delta')
  })

  for await (const event of runProviderLoop(adapter, request, 's', queue)) if (event.type === 'text_delta') break
  await expect.poll(() => closed).toBe(true)
  adapter.close()
})

test('whoever lends an ear hears the words while they come, and they are not among the events', async () => {
  const abort = new AbortController()
  const heard: string[] = []
  let finish = () => {}
  const { adapter, request, queue } = await openAgent((response) => {
    say(response, 'message_start', 'content_block_start', 'content_block_delta')
    finish = () => say(response, 'message_delta', 'message_stop').end()
  })
  const onSpeech: AgentRequest['onSpeech'] = (event) => {
    if (event.type !== 'text_delta') return
    heard.push(event.text)
    finish()
  }

  const yielded: string[] = []
  for await (const event of runProviderLoop(adapter, { ...request, signal: abort.signal, onSpeech }, 's', queue)) {
    yielded.push(event.type)
    if (event.type === 'agent_idle') abort.abort()
  }
  expect(heard).toEqual(['Well'])
  expect(yielded).toContain('assistant_text')
  expect(yielded).not.toContain('text_delta')
  adapter.close()
})

/** An agent that has been greeted, and what answers it. */
async function openAgent(answer: (response: ServerResponse) => void) {
  server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    answer(response)
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const adapter = createAnthropicAdapter({ apiKey: 'k', baseUrl: `http://127.0.0.1:${port}` })
  const queue = createMessageQueue([queueMessage.user({ id: 'm', text: 'Hello' })])
  const { signal } = new AbortController()
  return { adapter, queue, request: { taskId: 't', model: 'claude-sonnet-4-6', systemPrompt: '', tools: [], signal } }
}

function say(response: ServerResponse, ...types: (keyof typeof said)[]): ServerResponse {
  for (const type of types) response.write(`data: ${JSON.stringify({ type, ...said[type] })}\n\n`)
  return response
}

test.each([0, 7, 42, 999, 1000, 1_767_225_599_999])('%d ms are written like any other moment', (ms) => {
  expect(timestamp({ ports: { now: () => ms, random: Math.random, sleep: async () => {} } })).toBe(
    new Date(ms).toISOString(),
  )
})

const usage = { input_tokens: 1, output_tokens: 1 }
const said = {
  message_start: { message: { model: 'm', usage } },
  content_block_start: { index: 0, content_block: { type: 'text', text: '' } },
  content_block_delta: { index: 0, delta: { type: 'text_delta', text: 'Well' } },
  message_delta: { delta: { stop_reason: 'end_turn' }, usage },
  message_stop: {},
}
