import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { findRunning, portOf } from '../../bootstrap/running-daemon.mjs'

test('a daemon that runs already is found by what it answers; another program is not taken for one', async () => {
  const [daemon, stranger] = [await serve('{"ok":true,"version":"1.2.3"}'), await serve('<html>')]

  expect(await findRunning(daemon)).toBe(`http://127.0.0.1:${daemon}`)
  expect(await findRunning(stranger)).toBeUndefined()
  expect(await findRunning(1)).toBeUndefined()
  expect(await findRunning(0)).toBeUndefined()
})

test('the port that is asked for is the one that is looked at', () => {
  expect(portOf([])).toBe(7433)
  expect(portOf(['--foreground', '--port', '7500'])).toBe(7500)
  expect(portOf(['--port=7501'])).toBe(7501)
})

async function serve(text: string): Promise<number> {
  const server = createServer((_, response) => response.end(text))
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}
