import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Frame } from '@matrix/protocol/http'
import { afterEach, expect, test } from 'vitest'
import { createClient } from './client.ts'

const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

test('a lost connection is made again with the cursor and the seq where it ended', async () => {
  const asked: unknown[] = []
  const client = await serve(({ url, headers }, response) => {
    asked.push([url, headers['last-event-id']])
    send(response, [{ id: `e.${asked.length}`, seq: asked.length }])
    if (asked.length < 3) setTimeout(() => response.destroy(), 5)
  })
  const seqs: number[] = []
  for await (const frame of client.events({ projectId: 'P', taskId: 'T', after: 0 })) {
    if (frame.kind === 'event') seqs.push(frame.seq)
    if (seqs.length === 3) break
  }

  expect(seqs).toEqual([1, 2, 3])
  expect(asked).toEqual([
    ['/api/events?projectId=P&taskId=T&after=0', undefined],
    ['/api/events?projectId=P&taskId=T&after=1', 'e.1'],
    ['/api/events?projectId=P&taskId=T&after=2', 'e.2'],
  ])
})

test('a hole makes it connect anew without the cursor', async () => {
  const cursors: unknown[] = []
  const client = await serve(({ headers }, response) => {
    cursors.push(headers['last-event-id'])
    send(
      response,
      cursors.length === 1
        ? [
            { id: 'e.1', seq: 1 },
            { id: 'e.3', seq: 3 },
          ]
        : [{ seq: 2 }, { seq: 3 }],
    )
  })
  const seqs: number[] = []
  for await (const frame of client.events({ projectId: 'P', taskId: 'T', after: 0 })) {
    if (frame.kind === 'event') seqs.push(frame.seq)
    if (seqs.length === 3) break
  }

  expect([seqs, cursors]).toEqual([
    [1, 2, 3],
    [undefined, undefined],
  ])
})

test('what trying again would not help is thrown, and what may pass is waited for', async () => {
  const refused = await serve((_, response) => fail(response, 401, 'AUTH_REQUIRED'))
  let tries = 0
  const starting = await serve((_, response) => {
    tries += 1
    if (tries < 3) fail(response, 503, 'NOT_READY')
    else send(response, [{ id: 'e.1', seq: 1 }])
  })

  await expect(refused.events().next()).rejects.toMatchObject({ code: 'AUTH_REQUIRED' })
  expect((await starting.events().next()).value).toMatchObject({ seq: 1 })
})

test('whoever shows the connection is told when it is there and when it is gone', async () => {
  const told: boolean[] = []
  let tries = 0
  const client = await serve((_, response) => {
    tries += 1
    send(response, [{ id: `e.${tries}`, seq: tries }])
    if (tries === 1) response.end()
  })
  const stream = client.events({ onConnection: (isOpen) => told.push(isOpen) })
  await stream.next()
  await stream.next()
  await stream.return()

  expect(told).toEqual([true, false, true])
})

test('the stream ends quietly with its signal, and whoever stops reading hangs up', async () => {
  let connections = 0
  const client = await serve((_, response) => {
    connections += 1
    response.on('close', () => {
      connections -= 1
    })
    send(response, [{ id: 'e.1', seq: 1 }])
  })
  const stop = new AbortController()
  const seen: Frame[] = []
  for await (const frame of client.events({ signal: stop.signal })) {
    seen.push(frame)
    stop.abort()
  }
  for await (const _ of client.events()) break
  await new Promise((resolve) => setTimeout(resolve, 50))

  expect([seen.length, connections]).toEqual([1, 0])
})

async function serve(listener: RequestListener) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return createClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

function send(response: ServerResponse, events: { id?: string; seq: number }[]): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const { id, seq } of events) {
    const frame = { kind: 'event', projectId: 'P', taskId: 'T', seq, event: { type: 'notice' } }
    response.write(`${id ? `id: ${id}\n` : ''}data: ${JSON.stringify(frame)}\n\n`)
  }
}

function fail(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status).end(JSON.stringify({ code, message: 'no', hint: 'later' }))
}
