import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findRunning } from '../../bootstrap/running-daemon.mjs'

test('a daemon that runs already is found by what it answers; another program is not taken for one', async () => {
  const [daemon, stranger] = [await serve('{"ok":true,"version":"1.2.3"}'), await serve('<html>')]
  const env = { MXD_DATA_DIR: folder() }

  expect(await findRunning(['--foreground', '--port', String(daemon)], env)).toBe(`http://127.0.0.1:${daemon}`)
  expect(await findRunning([`--port=${daemon}`], env)).toBe(`http://127.0.0.1:${daemon}`)
  for (const port of [stranger, 1, 0, 'x']) expect(await findRunning(['--port', String(port)], env)).toBeUndefined()
})

test('a daemon on the same data is found wherever it listens, and one that is gone is not', async () => {
  const daemon = await serve('{"ok":true,"version":"1.2.3"}')
  const [live, dead] = [folder(), folder()]
  writeFileSync(join(live, 'daemon.json'), JSON.stringify({ url: `http://127.0.0.1:${daemon}` }))
  writeFileSync(join(dead, 'daemon.json'), JSON.stringify({ url: 'http://127.0.0.1:1' }))

  expect(await findRunning(['--port', '1'], { MXD_DATA_DIR: live })).toBe(`http://127.0.0.1:${daemon}`)
  expect(await findRunning(['--port', '1', '--data-dir', live], {})).toBe(`http://127.0.0.1:${daemon}`)
  expect(await findRunning(['--port', '1'], { MXD_DATA_DIR: dead })).toBeUndefined()
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'matrix-bootstrap-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

async function serve(text: string): Promise<number> {
  const server = createServer((_, response) => response.end(text))
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}
