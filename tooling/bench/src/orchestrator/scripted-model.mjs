// A model that is told by the benchmark what its agents do: work (speak for a while and look at something, over and over) or
// park. Every piece of text says when it was sent. Plain JavaScript, so that starting it costs nothing.
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const pieces = 20
const betweenMs = 100
const event = (type, fields) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const usage = { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 10 }
let isWorking = false
let calls = 0

function begin(id) {
  const message = { id, type: 'message', role: 'assistant', model: 'claude-sonnet-4-6', content: [] }
  return event('message_start', { message: { ...message, stop_reason: null, stop_sequence: null, usage } })
}

function callTool(index, id, name, input) {
  return [
    event('content_block_start', { index, content_block: { type: 'tool_use', id, name, input: {} } }),
    event('content_block_delta', {
      index,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    }),
    event('content_block_stop', { index }),
    event('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage }),
    event('message_stop', {}),
  ].join('')
}

async function speak(response, n) {
  response.write(event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }))
  // Agents do not speak in step with each other.
  await sleep(Math.random() * betweenMs)
  for (let piece = 0; piece < pieces; piece += 1) {
    const text = `@${Date.now()}@ and a few words more `
    response.write(event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }))
    await sleep(betweenMs)
  }
  response.write(event('content_block_stop', { index: 0 }))
  response.end(callTool(1, `toolu_${n}`, 'mcp__mxd__list_projects', { n }))
}

const server = createServer((request, response) => {
  request.resume()
  request.on('end', async () => {
    calls += 1
    const n = calls
    response.on('error', () => {})
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(begin(`msg_${n}`))
    if (isWorking) await speak(response, n)
    else response.end(callTool(0, `toolu_${n}`, 'mcp__mxd__yield', {}))
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', ({ work }) => {
  isWorking = work ?? isWorking
  process.send({ calls })
})
process.on('disconnect', () => process.exit(0))
