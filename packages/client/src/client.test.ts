import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { routes } from '@matrix/protocol/http'
import { afterEach, expect, test } from 'vitest'
import { createClient } from './client.ts'

const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

test('an operation is a method that answers with what the contract promises', async () => {
  const asked: unknown[] = []
  const baseUrl = await serve(async (request, response) => {
    asked.push([request.method, request.url, await textOf(request)])
    response.end('{"messageId":"m1","waitsFor":null}')
  })
  const client = createClient({ baseUrl, contract: routes })

  const answer = await client.sendMessage({ projectId: 'P', taskId: '01ARZ3ND', body: { text: 'hi' } })

  expect(answer.messageId).toBe('m1')
  expect(asked).toEqual([['POST', '/api/projects/P/tasks/01ARZ3ND/message', '{"text":"hi"}']])
})

test('an operation without an answer gives null', async () => {
  const baseUrl = await serve((_, response) => response.writeHead(204).end())

  expect(await createClient({ baseUrl }).signOut()).toBeNull()
})

test('what the daemon refuses comes as its error, with hint and field', async () => {
  const failure = { code: 'REQUEST_INVALID', message: 'title is missing', hint: 'Give one.', field: 'body.title' }
  const baseUrl = await serve((_, response) => response.writeHead(400).end(JSON.stringify(failure)))

  const call = createClient({ baseUrl }).listProjects()

  await expect(call).rejects.toMatchObject({ name: 'MatrixError', status: 400, ...failure })
})

test('an error that only a newer daemon knows is still told', async () => {
  const failure = { code: 'MOON_FULL', message: 'the moon is full', hint: 'Wait.' }
  const baseUrl = await serve((_, response) => response.writeHead(409).end(JSON.stringify(failure)))

  const call = createClient({ baseUrl }).listProjects()

  await expect(call).rejects.toMatchObject({ code: 'INTERNAL', message: 'the moon is full', hint: 'Wait.' })
})

test('nobody at the address is DAEMON_UNREACHABLE', async () => {
  const call = createClient({ baseUrl: 'http://127.0.0.1:1' }).listProjects()

  await expect(call).rejects.toMatchObject({ code: 'DAEMON_UNREACHABLE', message: expect.stringContaining(':1') })
})

test('another program at the address is DAEMON_UNREACHABLE', async () => {
  const refusing = await serve((_, response) => response.writeHead(500).end('<h1>Oops</h1>'))
  const agreeing = await serve((_, response) => response.end('<h1>Hello</h1>'))

  await expect(createClient({ baseUrl: refusing }).health()).rejects.toMatchObject({ code: 'DAEMON_UNREACHABLE' })
  await expect(createClient({ baseUrl: agreeing }).health()).rejects.toMatchObject({ code: 'DAEMON_UNREACHABLE' })
})

test('a call that is given up rejects with the reason of its signal', async () => {
  const baseUrl = await serve(() => {})
  const controller = new AbortController()
  const call = createClient({ baseUrl }).listProjects({}, { signal: controller.signal })
  controller.abort()

  await expect(call).rejects.toMatchObject({ name: 'AbortError' })
})

test('the token and the newest CSRF token go along with every request', async () => {
  const seen: unknown[] = []
  const baseUrl = await serve(({ headers }, response) => {
    seen.push([headers.authorization, headers['x-matrix-csrf']])
    response.end('[]')
  })
  let csrf = 'first'
  const client = createClient({ baseUrl, token: 'secret', csrfToken: () => csrf })
  await client.listProjects()
  csrf = 'second'
  await client.listProjects()

  expect(seen).toEqual([
    ['Bearer secret', 'first'],
    ['Bearer secret', 'second'],
  ])
})

test('with the contract at hand, an answer that breaks it is noticed', async () => {
  const baseUrl = await serve((_, response) => response.end('{"ok":"yes"}'))

  await expect(createClient({ baseUrl, contract: routes }).health()).rejects.toThrow()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function textOf(request: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
