import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findRunning } from '../../bootstrap/running-daemon.mjs'

const status = { pid: 42, startedAt: '2026-01-01T00:00:00.000Z' }

test('a daemon on the same data is found wherever it listens, by its socket or its token', async () => {
  const [withSocket, withToken] = [folder(), folder()]
  const socket = join(withSocket, 'daemon.sock')
  await serve(socket)
  describeDaemon(withSocket, { socket, url: 'https://box.example:7433' })
  const url = await serve(0, 'Bearer secret')
  describeDaemon(withToken, { url })

  expect(await findRunning(['--port', '1'], { MXD_DATA_DIR: withSocket })).toBe('https://box.example:7433')
  expect(await findRunning(['--port', '1', '--data-dir', withToken], {})).toBe(url)
  expect(await findRunning([`--data-dir=${withToken}`], {})).toBe(url)
})

test('a daemon on other data is not taken for one’s own, whatever its port and its process', async () => {
  const url = await serve(0)
  const [none, gone, reused] = [folder(), folder(), folder()]
  describeDaemon(gone, { pid: process.pid, socket: join(gone, 'daemon.sock') })
  describeDaemon(reused, { url, startedAt: '2025-12-31T00:00:00.000Z' })

  for (const data of [none, gone, reused])
    expect(await findRunning(['--port', new URL(url).port], { MXD_DATA_DIR: data })).toBeUndefined()
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'matrix-bootstrap-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

function describeDaemon(data: string, facts: object): void {
  const tokenFile = join(data, 'token')
  writeFileSync(tokenFile, 'secret\n')
  const file = { ...status, url: 'http://127.0.0.1:7433', socket: null, tokenFile, ...facts }
  writeFileSync(join(data, 'daemon.json'), JSON.stringify(file))
}

/** Answers as a daemon does, to whoever may ask. */
async function serve(place: string | number, authorization?: string): Promise<string> {
  const server = createServer(({ url, headers }, response) => {
    if (url === '/health') return response.end('{"ok":true,"version":"1.2.3"}')
    const isAllowed = authorization === undefined || headers.authorization === authorization
    response.writeHead(isAllowed ? 200 : 401).end(JSON.stringify(isAllowed ? status : {}))
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) =>
    typeof place === 'string' ? server.listen(place, resolve) : server.listen(place, '127.0.0.1', resolve),
  )
  return typeof place === 'string' ? '' : `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
