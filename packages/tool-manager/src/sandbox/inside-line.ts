import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { MatrixError } from '@matrix/protocol'

/** How the bridge in a box offers a connection for the way in. */
export const INSIDE_REQUEST = 'INSIDE * HTTP/1.1'

/** The way into a box: connections that its bridge has opened and holds ready, each for one use. */
export type InsideLines = {
  offer(socket: Socket): void
  /** Connects to a port of the loopback of the box. */
  connect(port: number): Promise<Socket>
}

const PATIENCE_MS = 3000

export function openInsideLines(): InsideLines {
  const ready: Socket[] = []
  return {
    offer(socket) {
      ready.push(socket)
      socket.once('close', () => ready.splice(ready.indexOf(socket), ready.includes(socket) ? 1 : 0))
    },
    async connect(port) {
      const deadline = performance.now() + PATIENCE_MS
      while (ready.length === 0 && performance.now() < deadline) await sleep(20)
      const socket = ready.shift()
      if (!socket) throw new MatrixError('SERVER_UNAVAILABLE', 'The sandbox does not take connections.')
      socket.write(`${port}\n`)
      const isOpen = await Promise.race([readAnswer(socket), sleep(PATIENCE_MS, false, { ref: false })])
      if (isOpen) return socket
      socket.destroy()
      throw new MatrixError('PORT_UNUSED', `Nothing listens on port ${port} in the sandbox.`)
    },
  }
}

/** One byte: what follows it is already from the server in the box. */
async function readAnswer(socket: Socket): Promise<boolean> {
  for (;;) {
    const answer: Buffer | null = socket.read(1)
    if (answer) return answer.toString() === '+'
    if (socket.readableEnded || socket.destroyed) return false
    await Promise.race([once(socket, 'readable'), once(socket, 'close')]).catch(() => undefined)
  }
}
