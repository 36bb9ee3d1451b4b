import { chmod, rm } from 'node:fs/promises'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { createHttpServer } from './http/server.ts'
import { storageError } from './owner-only.ts'

/** Longer paths of sockets are cut off by the system. */
const longestPath = 100

export type LocalSocket = {
  /** The path of the socket, or nothing where there can be none: the token is the way then. */
  listen(): Promise<string | null>
  isFrom(request: IncomingMessage): boolean
  close(): Promise<void>
}

/** A door for programs of the daemon's own user: whoever can enter its folder may come in, and no browser can. */
export function openLocalSocket(path: string, listener: RequestListener): LocalSocket {
  const server = createHttpServer(listener)
  const sockets = new WeakSet<Socket>()
  server.on('connection', (socket) => sockets.add(socket))

  return {
    async listen() {
      if (process.platform === 'win32' || Buffer.byteLength(path) > longestPath) return null
      // A killed daemon leaves its socket behind; this one holds the lock on the folder, so it is nobody's.
      await rm(path, { force: true })
      await new Promise<void>((resolve, reject) => {
        server.once('error', (error) => reject(storageError(error, `Cannot open ${path}`)))
        server.listen(path, resolve)
      })
      await chmod(path, 0o600)
      return path
    },
    isFrom: ({ socket }) => sockets.has(socket),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
