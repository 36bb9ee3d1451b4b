import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { digestBytes, type Server, type StdioServer, type Tool } from '@matrix/manifest'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { bootHarness, patience, scriptedServer, surface, textOf } from './scripted-server.testing.ts'

const peers: [string, 'legacy' | 'modern', () => Server | Promise<Server>][] = [
  ['SDK 1.x over a pipe', 'legacy', () => program('foreign-server.mjs')],
  ['SDK 1.x over streamable HTTP', 'legacy', foreignEndpoint],
  ['SDK 2.x over a pipe', 'modern', () => program('modern-server.mjs')],
]

describe.each(peers)('a server of %s', (_, era, server) => {
  test('is spoken to in its own era, verified and called', async () => {
    const { call, events } = await bootHarness({ servers: [await server()] })

    expect(await call('add', { a: 2, b: 3 })).toEqual({
      content: [{ type: 'text', text: '5' }],
      structured: { sum: 5 },
      isError: false,
      reached: [],
    })
    expect(await call('fail')).toMatchObject({ isError: true })
    expect(events).toContainEqual(expect.objectContaining({ type: 'server_started', era, tools: tools.length }))
  })

  test('reports progress and is told when a call is given up', async () => {
    const { call } = await bootHarness({ servers: [await server()] })
    const seen: unknown[] = []
    const abort = new AbortController()
    const onProgress = (progress: unknown) => {
      seen.push(progress)
      abort.abort()
    }
    expect(await call('wait', { ms: 60_000 }, { signal: abort.signal, onProgress })).toMatchObject({
      code: 'TOOL_CANCELLED',
    })
    expect(seen).toEqual([expect.objectContaining({ progress: 1, total: 1 })])
    await vi.waitFor(async () => expect(textOf(await call('cancelled'))).toBe('1'), patience)
  })

  test('is quarantined when it adds a tool in flight', async () => {
    const { call } = await bootHarness({ servers: [await server()] })
    expect(textOf(await call('change'))).toBe('changed')

    await vi.waitFor(
      async () => expect(await call('add', { a: 1, b: 1 })).toMatchObject({ code: 'TOOL_DRIFT' }),
      patience,
    )
  })
})

test('an older program that ends when it is asked for its era is started again and spoken to as it expects', async () => {
  const { call, events } = await bootHarness({ servers: [scriptedServer({ expectsInitialize: true })] })

  expect(textOf(await call('echo', { value: 'hello' }))).toBe('hello')
  expect(events).toContainEqual(expect.objectContaining({ type: 'server_started', era: 'legacy' }))
})

test('a newer program that is slow to start is not taken for an older one', async () => {
  const { args = [], ...rest } = program('modern-server.mjs')
  const { call, events } = await bootHarness({
    servers: [{ ...rest, args: [...args, '2500'] }],
  })

  expect(textOf(await call('add', { a: 1, b: 1 }))).toBe('2')
  expect(events).toContainEqual(expect.objectContaining({ type: 'server_started', era: 'modern' }))
})

test('an older program that does not answer what it does not know is waited for once, and never again', async () => {
  const server = scriptedServer({ ignoresUnknown: true, tools: [surface('ignored')] })
  const { call, tools } = await bootHarness({ servers: [server] })

  expect(textOf(await call('ignored'))).toBe('1')
  await tools.park()
  expect(textOf(await call('ignored'))).toBe('0')
})

const tools = ['add', 'fail', 'wait', 'cancelled', 'change'].map((name): Tool => ({ name, side_effect_class: 'read' }))

function program(name: string): StdioServer {
  const file = fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))
  return {
    alias: 'peer',
    transport: 'stdio',
    command: 'node',
    args: [file],
    package_digest: digestBytes(readFileSync(file)),
    version: '1.0.0',
    tools,
  }
}

async function foreignEndpoint(): Promise<Server> {
  const [file = ''] = program('foreign-server.mjs').args ?? []
  const child = spawn(process.execPath, [file, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill())
  const [port] = await once(child.stdout, 'data')
  return {
    alias: 'peer',
    transport: 'http',
    endpoint: `http://127.0.0.1:${String(port).trim()}/mcp`,
    version: '1.0.0',
    tools,
  }
}
