import { once } from 'node:events'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'

export type Arrival = { tag: string; where: string }

/** The places that no attack may reach: a service on the user's loopback, and a folder of the user's. */
export type Sinks = {
  port: number
  socket: string
  /** A folder that everybody outside a sandbox can write. An attack leaves a file there that is named by its tag. */
  outside: string
  /** What has arrived since the last time. */
  drain(): Promise<Arrival[]>
  close(): void
}

export async function openSinks(folder: string): Promise<Sinks> {
  const outside = join(folder, 'outside')
  mkdirSync(outside, { mode: 0o777 })
  const arrivals: Arrival[] = []
  const hear = (where: string) => (socket: Socket) => {
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const tag = /tag=([a-z0-9-]+)/.exec(text)?.[1]
      if (tag === undefined) return
      arrivals.push({ tag, where })
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\nreached')
    })
  }
  const listener = createServer(hear('the user’s loopback was reached'))
  const socket = join(folder, 'service.sock')
  const local = createServer(hear('a unix socket of the user was reached'))
  listener.listen(0, '127.0.0.1')
  local.listen(socket)
  await Promise.all([once(listener, 'listening'), once(local, 'listening')])
  const address = listener.address()
  if (address === null || typeof address === 'string') throw new Error('The listener has no port.')
  return {
    port: address.port,
    socket,
    outside,
    async drain() {
      const files = readdirSync(outside)
      for (const file of files) rmSync(join(outside, file), { recursive: true })
      return [...arrivals.splice(0), ...files.map((tag) => ({ tag, where: 'a file was written outside' }))]
    },
    close() {
      listener.close()
      local.close()
    },
  }
}
