import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { MatrixError } from '@matrix/protocol'
import type { ServerPool } from '@matrix/tool-manager'
import type { ForwardRequest, PortForward } from '../tool-host.ts'

/** Listens on the loopback of the user for what a program listens on in a sandbox, for as long as that sandbox lives. */
export async function forwardPort(pool: ServerPool, { worktree, port, to }: ForwardRequest): Promise<PortForward> {
  const inside = await pool.openInside(worktree, port)
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (client) => {
    open.add(client)
    client.on('close', () => open.delete(client))
    client.on('error', () => client.destroy())
    inside.connect().then(
      (socket) => join(client, socket),
      () => client.destroy(),
    )
  })
  // The same number where it is free: what runs in the sandbox may put it into its own addresses.
  if (to !== undefined) await listen(server, to)
  else await listen(server, port).catch(() => listen(server, 0))
  const ended = new Promise<void>((done) => server.once('close', done))
  const close = async () => {
    server.close()
    for (const client of open) client.destroy()
    await ended
  }
  void inside.ended.then(close)
  return { localPort: (server.address() as AddressInfo).port, ended, close }
}

function join(client: Socket, socket: Socket): void {
  socket.on('error', () => client.destroy())
  socket.on('close', () => client.writableEnded || client.destroy())
  client.on('close', () => socket.destroy())
  client.pipe(socket)
  socket.pipe(client)
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((done, fail) => {
    const failed = ({ code }: NodeJS.ErrnoException) =>
      fail(new MatrixError('PORT_TAKEN', `Port ${port} of this machine cannot be used: ${code}`))
    server.once('error', failed)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', failed)
      done()
    })
  })
}
