import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/** How a server answers one request for a model's turn. */
export type Answer = (response: ServerResponse, request: Asked) => void | Promise<void>

export type Asked = { url: string; headers: IncomingMessage['headers']; body: string; at: number }

/** A model server over plain HTTP that answers each request as the list says, and the last answer for ever. */
export async function badProvider(...answers: Answer[]): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const one = { url: request.url ?? '', headers: request.headers, body: await bodyOf(request), at: Date.now() }
    asked.push(one)
    const answer = answers[Math.min(asked.length, answers.length) - 1]
    await answer?.(response, one)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** An error as Anthropic sends it. */
export function failing(status: number, type: string, message: string, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ type: 'error', error: { type, message } }))
  }
}

export function sending(status: number, contentType: string, body: string | Buffer): Answer {
  return (response) => void response.writeHead(status, { 'content-type': contentType }).end(body)
}

const stream = { 'content-type': 'text/event-stream' }

/** A whole answer, at once or piece by piece. */
export function saying(text: string, { pieceMs }: { pieceMs?: number } = {}): Answer {
  return async (response) => {
    response.writeHead(200, stream)
    for (const piece of pieceMs === undefined ? [text] : text) {
      response.write(piece)
      if (pieceMs !== undefined) await sleep(pieceMs)
    }
    response.end()
  }
}

/** The start of an answer, and then the connection is gone. */
export function cutAfter(text: string): Answer {
  return (response) => void response.writeHead(200, stream).write(text, () => response.destroy())
}

/** Nothing at all, for ever. */
export const hanging: Answer = () => undefined

/** Something now and then, but never an end. */
export const dripping: Answer = async (response) => {
  response.writeHead(200, stream)
  while (!response.destroyed) {
    response.write(':')
    await sleep(1000)
  }
}

/** The call of a tool as Anthropic streams it. */
export function calling(name: string, input: object): string {
  const events = [
    { type: 'message_start', message: { ...message, usage: { input_tokens: 100, output_tokens: 1 } } },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: `toolu_${name}`, name, input: {} },
    },
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 20 } },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-6', content: [] }

export const done = calling('mcp__mxd__done', { status: 'passed', summary: 'All done.' })
