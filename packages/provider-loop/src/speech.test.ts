import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { queueMessage } from '@matrix/protocol'
import { afterEach, expect, test } from 'vitest'
import { createAnthropicAdapter } from './anthropic-adapter.ts'
import { createMessageQueue } from './message-queue.ts'
import { runProviderLoop } from './provider-loop.ts'
import { timestamp } from './run.ts'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

test('who stops listening in the middle of an answer ends the request', async () => {
  let closed = false
  server = createServer((_, response) => {
    response.on('close', () => {
      closed = true
    })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of ['message_start', 'content_block_start', 'content_block_delta'] as const)
      response.write(`data: ${JSON.stringify({ type: event, ...said[event] })}\n\n`)
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const adapter = createAnthropicAdapter({ apiKey: 'k', baseUrl: `http://127.0.0.1:${port}` })
  const queue = createMessageQueue([queueMessage.user({ id: 'm', text: 'Hello' })])
  const { signal } = new AbortController()
  const request = { taskId: 't', model: 'claude-sonnet-4-6', systemPrompt: '', tools: [], signal }

  for await (const event of runProviderLoop(adapter, request, 's', queue)) if (event.type === 'text_delta') break
  await expect.poll(() => closed).toBe(true)
  adapter.close()
})

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
}
