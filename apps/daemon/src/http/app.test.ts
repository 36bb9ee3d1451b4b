import { connect } from 'node:net'
import { MatrixError } from '@matrix/protocol'
import { routes } from '@matrix/protocol/http'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ask, startTestDaemon, type TestDaemon } from '../daemon.testing.ts'
import { projectId, taskId } from '../scripted-orchestrator.testing.ts'

let daemon: TestDaemon
beforeAll(async () => {
  daemon = await startTestDaemon()
})
beforeEach(() => {
  daemon.orchestrator.calls.length = 0
  for (const operation of ['listProjects', 'listAttention'] as const) daemon.orchestrator.answer(operation, [])
})
afterAll(() => daemon.close())

test('a route hands the request, with its defaults filled in, to the operation of the same name', async () => {
  daemon.orchestrator.answer('mergeTask', { outcome: 'merged', commit: 'abc' })
  const outcome = await daemon.local.mergeTask({ projectId, taskId, body: { message: 'Done' } })

  expect(outcome).toEqual({ outcome: 'merged', commit: 'abc' })
  expect(daemon.orchestrator.calls).toEqual([
    {
      operation: 'mergeTask',
      request: {
        params: { projectId, taskId },
        query: {},
        body: { how: 'merge', message: 'Done', updateCheckout: false, acceptFlagged: [] },
      },
    },
  ])
})

test('flags and numbers in the address are read as such', async () => {
  await daemon.local.search({ q: 'words', limit: 5 }).catch(() => {})
  await daemon.local.getChanges({ projectId, taskId, hunks: true }).catch(() => {})

  expect(daemon.orchestrator.calls).toMatchObject([
    { request: { query: { q: 'words', limit: 5 } } },
    { request: { query: { hunks: true } } },
  ])
})

test('what fails on purpose keeps its status, code and hint; what does not tells nothing of the inside', async () => {
  daemon.orchestrator.fail('listProjects', new MatrixError('STORAGE_FULL', 'No room.'))
  daemon.orchestrator.fail('listAttention', new Error('secret path /home/me/.ssh'))

  await expect(daemon.local.listProjects()).rejects.toMatchObject({
    code: 'STORAGE_FULL',
    status: 507,
    message: 'No room.',
  })
  const { status, text } = await withToken('/api/attention')
  expect([status, text]).toEqual([500, expect.not.stringContaining('secret')])
})

test('what is wrong in a request is named', async () => {
  const { status, json } = await post(`/api/projects/${projectId}/tasks`, { title: '' })

  expect([status, json()]).toEqual([
    400,
    expect.objectContaining({
      code: 'REQUEST_INVALID',
      field: 'body.title',
      message: 'body.title: must not be empty',
    }),
  ])
})

test('a type of event that does not exist is named, with those that do', async () => {
  const { status, json } = await withToken('/api/search?q=a&types=tool_call,nope')

  expect([status, json()]).toEqual([
    400,
    expect.objectContaining({
      field: 'query.types',
      message: expect.stringMatching(
        /^query\.types: there are no events of type nope; there are .*assistant_text.*tool_call/,
      ),
    }),
  ])
})

test('a bad id is told what it should be the id of', async () => {
  const message = async (path: string) => (await withToken(path)).json().message

  expect(await message('/api/projects/shop/tasks')).toBe(
    'params.projectId: a project id is a ULID: 26 characters of Crockford base 32',
  )
  expect(await message(`/api/projects/${projectId}/tasks/x`)).toMatch(/^params\.taskId: a task id, /)
})

test('no id in an address can mean a path, an option, a property of every object or nothing', async () => {
  const bad = ['../x', '..', '%2e%2e', 'a\0b', 'a'.repeat(10_000), '-rf', '__proto__', 'constructor', 'ünïcödé', ' ']
  const places = Object.values(routes)
    .flatMap(({ path, method }) => [...path.matchAll(/:(\w+)/g)].map(([name]) => ({ method, path, name })))
    .filter(({ name }) => name !== ':messageId')
  for (const { method, path, name } of places)
    for (const id of bad) {
      if (id === 'ünïcödé' && !/projectId|taskId|deviceId|layer/.test(name)) continue
      const target = path
        .replace(name, encodeURIComponent(id))
        .replace(/:(\w+)/g, (_, other: string) => ids[other] ?? 'x')
      const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
      const { status } = await ask(`${daemon.url}${target}`, {
        method,
        headers,
        ...(method === 'GET' ? {} : { body: '{}' }),
      })
      expect([400, 404, 414], `${method} ${path} with ${name} = ${id.slice(0, 20)}`).toContain(status)
    }

  expect(daemon.orchestrator.calls).toEqual([])
}, 60_000)

test('a body cannot reach into the prototype of anything', async () => {
  const bodies = [
    '{"title":"x","__proto__":{"polluted":1}}',
    '{"title":"x","constructor":{"prototype":{"polluted":1}}}',
    '{"title":"x","persistent":{"__proto__":{"polluted":1}}}',
  ]
  for (const body of bodies) expect((await post(`/api/projects/${projectId}/tasks`, body)).status).toBe(400)

  expect(({} as { polluted?: number }).polluted).toBeUndefined()
  expect(daemon.orchestrator.calls).toEqual([])
})

test('bodies that are too deep, too large, broken or of another type are refused', async () => {
  const path = `/api/projects/${projectId}/tasks`
  const deep = `{"title":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  const large = JSON.stringify({ title: 'x', description: 'x'.repeat(3_000_000) })
  const typed = (type: string) =>
    ask(`${daemon.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': type },
      body: '{"title":"x"}',
    })

  expect((await post(path, deep)).json()).toMatchObject({ code: 'REQUEST_INVALID', field: 'body' })
  expect((await post(path, large)).json()).toMatchObject({ code: 'REQUEST_TOO_LARGE' })
  expect((await post(path, '{"title":')).json()).toMatchObject({ code: 'REQUEST_INVALID' })
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
    expect((await typed(type)).status).toBe(415)
  expect(daemon.orchestrator.calls).toEqual([])
})

test('a deep text inside a string is only text', async () => {
  daemon.orchestrator.answer('sendMessage', { messageId: 'm', waitsFor: null })
  const text = `${'['.repeat(1000)}"\\${'{'.repeat(1000)}`

  await daemon.local.sendMessage({ projectId, taskId, body: { text } })
  expect(daemon.orchestrator.calls).toMatchObject([{ request: { body: { text } } }])
})

test('whatever is thrown at an operation, the daemon answers with a failure or calls it with what the contract allows', async () => {
  const operations = Object.entries(routes).filter(([, { access }]) => access === 'signed-in')
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...operations),
      fc.jsonValue({ maxDepth: 4 }),
      async ([, { method, path }], body) => {
        const target = path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? 'x')
        const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
        const { status } = await ask(`${daemon.url}${target}`, {
          method,
          headers,
          ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
        })
        expect([200, 204, 400, 404, 500]).toContain(status)
      },
    ),
    { numRuns: 60 },
  )
})

test('until the agents are resumed, only what needs none is answered', async () => {
  const early = await startTestDaemon({ port: 0 })
  const { createDaemon } = await import('../daemon.ts')
  const starting = await createDaemon({
    orchestrator: early.orchestrator,
    dataDirectory: early.dataDirectory,
    version: '1',
    port: 0,
  })
  const { url, tokenFile } = await starting.listen()
  const { readFileSync } = await import('node:fs')
  const headers = { authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` }
  const statuses = async () =>
    Promise.all(
      ['/health', '/ready', '/api/status', '/api/projects', '/api/events'].map(
        async (path) => (await ask(`${url}${path}`, { headers })).status,
      ),
    )
  const before = await statuses()
  starting.markReady()

  expect(before).toEqual([200, 503, 200, 503, 503])
  expect(await statuses()).toEqual([200, 200, 200, 204, 200])
  await starting.close()
  await early.close()
})

test('the contract can be read as OpenAPI and as a page', async () => {
  const { json } = await ask(`${daemon.url}/api/openapi.json`)
  const page = await ask(`${daemon.url}/api/docs`)
  const { paths } = json() as { paths: Record<string, Record<string, { operationId: string }>> }
  const described = Object.values(paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )

  expect(described.sort()).toEqual([...Object.keys(routes), 'events'].sort())
  expect(paths['/api/projects/{projectId}/tasks/{taskId}/message']?.post).toMatchObject({
    requestBody: { content: { 'application/json': { schema: { properties: { text: { type: 'string' } } } } } },
  })
  expect(page.text).toContain('/api/projects/:projectId/tasks')
})

test('somebody who sends a request very slowly keeps nobody else waiting', async () => {
  const slow = Array.from({ length: 50 }, () => {
    const socket = connect(daemon.port, '127.0.0.1')
    socket.write('POST /api/projects HTTP/1.1\r\nHost: ')
    return socket
  })
  const start = performance.now()
  await daemon.local.health()
  for (const socket of slow) socket.destroy()

  expect(performance.now() - start).toBeLessThan(10_000)
})

test('more headers than anyone needs are refused', async () => {
  const headers = Object.fromEntries(Array.from({ length: 1500 }, (_, n) => [`x-${n}`, 'x'.repeat(20)]))

  expect((await ask(`${daemon.url}/health`, { headers })).status).toBe(431)
})

const ids: Record<string, string> = { projectId, taskId, deviceId: 'a'.repeat(64), layer: 'global', key: 'port' }

function withToken(path: string) {
  return ask(`${daemon.url}${path}`, { headers: { authorization: `Bearer ${daemon.token}` } })
}

function post(path: string, body: unknown) {
  return ask(`${daemon.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}
