import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDaemon } from '@matrix/daemon'

// Started by the benchmark as a process of its own, so that what it uses is the server's alone.

export type Order = { frames: number }
export type Report = { cpuMs: number }

const frame = (seq: number, isLast: boolean) => ({
  kind: 'event' as const,
  projectId: '01K00000000000000000000000',
  taskId: '01K00000000000000000000001',
  seq,
  event: {
    type: 'assistant_text' as const,
    taskId: '01K00000000000000000000001',
    ts: '2026-01-01T00:00:00.000Z',
    text: isLast ? 'the last one' : 'a few words that an agent has said '.repeat(6),
  },
})
type Frame = ReturnType<typeof frame>

const { publish, port, token } = await (process.argv[2] === 'bare' ? serveBare() : serveDaemon())
process.send?.({ port, token })

let seq = 0
process.on('message', async ({ frames }: Order) => {
  const before = process.cpuUsage()
  for (let n = 1; n <= frames; n += 1) {
    seq += 1
    publish(frame(seq, n === frames))
    // One thing happens after another, as it does with agents; nothing can be put together.
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
  }
  // What was written is still on its way out.
  await new Promise((resolve) => setTimeout(resolve, 50))
  const { user, system } = process.cpuUsage(before)
  process.send?.({ cpuMs: (user + system) / 1000 } satisfies Report)
})

/** The least that reaches every client: the frame is written once, then to each of them. */
async function serveBare() {
  const clients = new Set<ServerResponse>()
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    response.write(': \n\n')
    clients.add(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    token: '',
    publish(one: Frame) {
      const bytes = Buffer.from(`id: e.${one.seq}\ndata: ${JSON.stringify(one)}\n\n`)
      for (const client of clients) client.write(bytes)
    },
  }
}

async function serveDaemon() {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'matrix-bench-'))
  process.on('exit', () => rmSync(dataDirectory, { recursive: true, force: true }))
  type Options = Parameters<typeof createDaemon>[0]
  let publish: (one: Frame) => void = () => {}
  const orchestrator = {
    subscribe(listener: (one: Frame) => void) {
      publish = listener
      return () => {}
    },
  } as unknown as Options['orchestrator']
  const daemon = await createDaemon({ orchestrator, dataDirectory, version: '0', port: 0 })
  const { port, tokenFile } = await daemon.listen()
  daemon.markReady()
  return { port, token: readFileSync(tokenFile, 'utf8').trim(), publish: (one: Frame) => publish(one) }
}
