import { once } from 'node:events'
import { createReadStream, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join, normalize } from 'node:path'

/** A proxy as companies have one: `registry` is a name that it alone resolves, everything else is passed on. */
export type CompanyNetwork = { proxy: string; close(): Promise<void> }

export const registry = 'registry.proving.example'

/** Serves the files of a folder as `http://registry.proving.example/` to those who use the proxy. */
export async function openCompanyNetwork(files: string): Promise<CompanyNetwork> {
  const open = new Set<Socket>()
  const server = createServer((request, response) => serveFile(request, response, files))
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  server.on('connect', ({ url = '' }: IncomingMessage, client: Socket) => {
    const [host, port] = url.split(':')
    const upstream = connect(Number(port), host, () => client.write('HTTP/1.1 200 Connection Established\r\n\r\n'))
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.pipe(other).on('error', () => one.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    proxy: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function serveFile({ url = '' }: IncomingMessage, response: ServerResponse, files: string): void {
  const asked = URL.canParse(url) ? new URL(url) : undefined
  const path =
    asked?.host === registry ? findFile(join(files, normalize(decodeURIComponent(asked.pathname)))) : undefined
  if (!path) return void response.writeHead(404).end()
  // An index of pip is a page; the others ask for JSON or bytes and read no type.
  const type = path.endsWith('.html') ? 'text/html' : 'application/octet-stream'
  response.writeHead(200, { 'content-type': type, 'cache-control': 'max-age=600' })
  createReadStream(path).pipe(response)
}

function findFile(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found?.isDirectory() ? findFile(join(path, 'index.html')) : found && path
}
