import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type AnswerBody, createHttpFetch } from './http-fetch.ts'

const open: { server: Server; close(): void }[] = []
afterEach(() => {
  for (const { server, close } of open.splice(0)) {
    close()
    server.closeAllConnections()
    server.close()
  }
})

test('body, status and headers arrive, and the connection is used again', async () => {
  const ports = new Set<number | undefined>()
  const { fetch, url } = await serve((request, response) => {
    ports.add(request.socket.remotePort)
    request.on('data', (chunk) => response.write(chunk))
    request.on('end', () => response.end())
    response.writeHead(418, { 'x-tea': 'pot' })
  })
  for (let turn = 0; turn < 3; turn += 1) {
    const response = await fetch(url, { method: 'POST', body: 'héllo' })
    expect([response.ok, response.status, response.headers.get('x-tea'), await response.text()]).toEqual([
      false,
      418,
      'pot',
      'héllo',
    ])
  }

  expect(ports.size).toBe(1)
})

test('an abort ends the request, before and in the middle of the answer', async () => {
  const { fetch, url } = await serve((_, response) => {
    response.writeHead(200)
    response.write('first')
  })
  const early = new AbortController()
  early.abort()
  await expect(fetch(url, { signal: early.signal })).rejects.toThrow('aborted')

  const late = new AbortController()
  const response = await fetch(url, { signal: late.signal })
  const text = response.text()
  late.abort()
  await expect(text).rejects.toThrow()
})

test('an abort just when the answer is complete disturbs nobody', async () => {
  const { fetch, url } = await serve((_, response) => {
    response.writeHead(200)
    response.write('first')
    response.end('last')
  })
  for (let ticks = 0; ticks < 12; ticks += 1) {
    const controller = new AbortController()
    const response = await fetch(url, { signal: controller.signal })
    const text = response.text().catch(() => 'aborted')
    for (let tick = 0; tick < ticks; tick += 1) await new Promise<void>((resolve) => process.nextTick(resolve))
    controller.abort()

    expect(['firstlast', 'aborted']).toContain(await text)
  }
})

test('an answer that is cut off is an error, not an end', async () => {
  const { fetch, url } = await serve((_, response) => {
    response.writeHead(200)
    response.write('half', () => response.destroy())
  })

  await expect((await fetch(url)).text()).rejects.toThrow()
})

test('silence longer than allowed ends the request', async () => {
  const { fetch, url } = await serve(() => {}, 50)

  await expect(fetch(url)).rejects.toThrow('no byte for 0.05 s')
})

test('a connection that the other side closed while it was idle is replaced without a word', async () => {
  let requests = 0
  const { fetch, url } = await serve((request, response) => {
    requests += 1
    response.end('ok')
    // Closed without telling the client, just when it is about to be used again.
    if (requests === 1) setImmediate(() => request.socket.resetAndDestroy())
  })
  await (await fetch(url, { method: 'POST', body: 'a' })).text()

  expect(await (await fetch(url, { method: 'POST', body: 'b' })).text()).toBe('ok')
})

test('a long answer arrives whole, though nobody read it at first', async () => {
  const size = 8 * 1024 * 1024
  const { fetch, url } = await serve((_, response) => response.end(Buffer.alloc(size, 'x')))
  const response = await fetch(url)
  await new Promise((resolve) => setTimeout(resolve, 50))

  expect(await response.text()).toHaveLength(size)
})

test('a reader who cannot go on ends the connection', async () => {
  let closed = false
  const { fetch, url } = await serve((_, response) => {
    response.on('close', () => {
      closed = true
    })
    response.write('first')
  })
  const body = (await fetch(url)).body as unknown as AnswerBody

  await expect(
    body.read(() => {
      throw new Error('not JSON')
    }),
  ).rejects.toThrow('not JSON')
  await expect.poll(() => closed).toBe(true)
})

test('a connection that breaks before anybody reads is an error all the same', async () => {
  const { fetch, url } = await serve((_, response) => {
    response.writeHead(200)
    response.write('half', () => response.destroy())
  })
  const response = await fetch(url)
  await new Promise((resolve) => setTimeout(resolve, 50))

  await expect(response.text()).rejects.toThrow()
})

async function serve(
  listener: RequestListener,
  idleTimeoutMs = 5000,
): Promise<{ fetch: typeof globalThis.fetch; url: string }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const http = createHttpFetch({ idleTimeoutMs })
  open.push({ server, close: http.close })
  return { fetch: http.fetch, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}
