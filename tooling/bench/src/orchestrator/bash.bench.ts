import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { builtinTools, loopTools } from '@matrix/protocol'
import { type Benchmark, median } from '../figure.ts'
import { configure, makeHome, parkAgents, removeHome, startDaemon, tellAll, untilAll } from './arena.ts'

const warmUp = 30
const turns = 200

/** What a command costs a warm agent beside the command itself: from the model's answer to the next request. */
export const benchmark: Benchmark = {
  name: 'a command of a warm agent',
  async measure() {
    const home = makeHome()
    const model = await openModel()
    configure(home, model)
    const daemon = await startDaemon(home)
    try {
      const crowd = await parkAgents(daemon, home, 1)
      model.order(warmUp + turns)
      await tellAll(daemon, crowd, 'Begin.')
      await model.done
      await untilAll(daemon, crowd, 'waiting')
      const ours = median(model.gaps.slice(warmUp))
      return [
        { name: '`bash true`, answer to next request', unit: 'ms', ours, floor: 15, against: 'allowed', limit: 1 },
      ]
    } finally {
      await daemon.end('SIGKILL')
      model.close()
      removeHome(home)
    }
  },
}

const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const usage = { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 10 }

/** A model that has as many commands run as it was ordered to and then waits, with the time that each of them took. */
async function openModel() {
  const gaps: number[] = []
  let left = 0
  let answeredAt: number | undefined
  let finish = () => {}
  const done = new Promise<void>((resolve) => {
    finish = resolve
  })
  // An agent that repeats a call is stopped, so each has a number.
  const server = createServer((request, response) => {
    if (answeredAt !== undefined) gaps.push(performance.now() - answeredAt)
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(
        left > 0 ? call(builtinTools.bash, { command: `true # ${left}` }) : call(loopTools.yield, {}),
        () => {
          answeredAt = left > 0 ? performance.now() : undefined
          if (left === 1) finish()
          left = Math.max(0, left - 1)
        },
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    gaps,
    done,
    order(count: number) {
      left = count
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

let calls = 0

function call(name: string, input: object): string {
  calls += 1
  const message = { id: `msg_${calls}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-6', content: [] }
  return [
    event('message_start', { message: { ...message, stop_reason: null, stop_sequence: null, usage } }),
    event('content_block_start', {
      index: 0,
      content_block: { type: 'tool_use', id: `toolu_${calls}`, name, input: {} },
    }),
    event('content_block_delta', {
      index: 0,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage }),
    event('message_stop', {}),
  ].join('')
}
