import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type Benchmark, median } from '../figure.ts'
import type { Order, Report } from './fan-out-server.ts'

const clients = 100
const frames = 300
const rounds = 9

/** What it costs the daemon to tell everyone what happened. */
export const benchmark: Benchmark = {
  name: 'event stream',
  async measure() {
    const [ours, bare] = await Promise.all([openArena('daemon'), openArena('bare')])
    try {
      const costs = { ours: [] as number[], bare: [] as number[] }
      for (const arena of [ours, bare]) await arena.run()
      for (let round = 0; round < rounds; round += 1) {
        costs.ours.push(await ours.run())
        costs.bare.push(await bare.run())
      }
      return [
        {
          name: `an event to ${clients} clients`,
          unit: 'µs CPU/delivery',
          ours: median(costs.ours),
          floor: median(costs.bare),
          against: 'bare node:http broadcast',
          limit: 1.3,
        },
      ]
    } finally {
      ours.close()
      bare.close()
    }
  },
}

type Arena = { run(): Promise<number>; close(): void }

async function openArena(kind: 'daemon' | 'bare'): Promise<Arena> {
  const server = fork(fileURLToPath(new URL('./fan-out-server.ts', import.meta.url)), [kind], {
    execArgv: ['--import', 'tsx'],
  })
  const { port, token } = await nextMessage<{ port: number; token: string }>(server)
  const readers = await Promise.all(Array.from({ length: clients }, () => openClient(port, token)))
  return {
    async run() {
      const report = nextMessage<Report>(server)
      const seen = Promise.all(readers.map(({ untilLast }) => untilLast()))
      server.send({ frames } satisfies Order)
      const [{ cpuMs }] = await Promise.all([report, seen])
      return (cpuMs * 1000) / (frames * clients)
    },
    close() {
      for (const { socket } of readers) socket.destroy()
      server.kill()
    },
  }
}

async function openClient(port: number, token: string): Promise<{ socket: Socket; untilLast(): Promise<void> }> {
  const socket = connect(port, '127.0.0.1')
  const head = ['GET /api/events HTTP/1.1', `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${token}`]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  await once(socket, 'data')
  return {
    socket,
    untilLast: () =>
      new Promise((resolve) => {
        const look = (chunk: Buffer) => {
          if (!chunk.includes('the last one')) return
          socket.off('data', look)
          resolve()
        }
        socket.on('data', look)
        socket.resume()
      }),
  }
}

async function nextMessage<T>(child: ChildProcess): Promise<T> {
  const [message] = await once(child, 'message')
  return message as T
}
