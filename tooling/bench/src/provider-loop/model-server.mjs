// A model that answers at once and always the same: 20 pieces of text and one tool call, in 28 events or so.
// Plain JavaScript, so that starting it costs nothing.
import { createServer } from 'node:http'

const words = Array.from({ length: 20 }, (_, index) => `word${index} and a little more `)
const event = (type, fields) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const data = (value) => `data: ${JSON.stringify(value)}\n\n`
let calls = 0

function anthropic() {
  const usage = { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 10 }
  const message = { id: `msg_${++calls}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-6', content: [] }
  const tool = { type: 'tool_use', id: `toolu_${calls}`, name: 'echo', input: {} }
  return [
    event('message_start', { message: { ...message, stop_reason: null, stop_sequence: null, usage } }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...words.map((text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
    event('content_block_stop', { index: 0 }),
    event('content_block_start', { index: 1, content_block: tool }),
    event('content_block_delta', { index: 1, delta: { type: 'input_json_delta', partial_json: `{"text":"${calls}` } }),
    event('content_block_delta', { index: 1, delta: { type: 'input_json_delta', partial_json: '"}' } }),
    event('content_block_stop', { index: 1 }),
    event('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage }),
    event('message_stop', {}),
  ]
}

function openai() {
  const head = { id: `chatcmpl-${++calls}`, object: 'chat.completion.chunk', created: 1, model: 'gpt-5' }
  const chunk = (delta, finish_reason = null) => data({ ...head, choices: [{ index: 0, delta, finish_reason }] })
  const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
  const tool = { index: 0, id: `call_${calls}`, type: 'function', function: { name: 'echo', arguments: '' } }
  return [
    chunk({ role: 'assistant', content: '' }),
    ...words.map((content) => chunk({ content })),
    chunk({ tool_calls: [tool] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: `{"text":"${calls}` } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] }),
    chunk({}, 'tool_calls'),
    data({ ...head, choices: [], usage }),
    'data: [DONE]\n\n',
  ]
}

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.cork()
    for (const piece of request.url.includes('/messages') ? anthropic() : openai()) response.write(piece)
    response.end()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
process.on('disconnect', () => process.exit(0))
