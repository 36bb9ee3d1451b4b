import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectLocal, findDaemon } from './local-daemon.ts'

const startedAt = '2026-01-01T00:00:00.000Z'

let folder: string
let status: unknown
const seen: unknown[] = []
const server = createServer(({ url, headers }, response) => {
  seen.push([headers.host, headers.authorization])
  response.end(JSON.stringify(url === '/api/status' ? status : []))
})

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-client-'))
})
afterEach(() => {
  server.close()
  rmSync(folder, { recursive: true })
  seen.length = 0
})

test('the daemon of a data directory is reached through its socket', async () => {
  const socket = join(folder, 'daemon.sock')
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  describeDaemon({ socket })

  expect(await (await connectLocal(folder)).listProjects()).toEqual([])
  expect(seen).toEqual([['127.0.0.1:7433', undefined]])
})

test('where there is no socket, the token in the file of the daemon opens its port', async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  writeFileSync(join(folder, 'token'), 'secret\n')
  describeDaemon({ port, url: `http://127.0.0.1:${port}` })

  expect(await (await connectLocal(folder)).listProjects()).toEqual([])
  expect(seen).toEqual([[`127.0.0.1:${port}`, 'Bearer secret']])
})

test('a directory without a daemon is DAEMON_UNREACHABLE and says which', async () => {
  await expect(connectLocal(folder)).rejects.toMatchObject({
    code: 'DAEMON_UNREACHABLE',
    message: `No daemon runs on ${folder}.`,
  })
})

test('a daemon counts when it answers and is the one that wrote the file', async () => {
  const socket = join(folder, 'daemon.sock')
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  describeDaemon({ socket })
  const found = async (answer: object) => {
    status = answer
    return (await findDaemon(folder))?.pid
  }

  expect(await found({ pid: process.pid, startedAt })).toBe(process.pid)
  expect(await found({ pid: process.pid, startedAt: '2026-01-02T00:00:00.000Z' })).toBeUndefined()
  expect(await found({ pid: process.pid + 1, startedAt })).toBeUndefined()
})

test('what a killed daemon or another program left behind is no daemon, whoever has its process id now', async () => {
  describeDaemon({ pid: process.pid, socket: join(folder, 'daemon.sock') })
  const killed = await findDaemon(folder)
  writeFileSync(join(folder, 'daemon.json'), 'not json')

  expect([killed, await findDaemon(folder)]).toEqual([undefined, undefined])
})

function describeDaemon(facts: Record<string, unknown>): void {
  const file = {
    pid: process.pid,
    startedAt,
    version: '0.0.0',
    url: 'http://127.0.0.1:7433',
    port: 7433,
    socket: null,
    tokenFile: join(folder, 'token'),
    args: [],
    ...facts,
  }
  writeFileSync(join(folder, 'daemon.json'), JSON.stringify(file))
}
