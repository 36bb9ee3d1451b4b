import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ask } from './daemon.testing.ts'
import { type ScriptedOrchestrator, scriptOrchestrator } from './scripted-orchestrator.testing.ts'
import { startDaemon } from './start-daemon.ts'

let folder: string
let orchestrator: ScriptedOrchestrator
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mxd-'))
  orchestrator = scriptOrchestrator()
  orchestrator.answer('readConfig', { entries: [], problems: [] })
})
afterEach(() => rmSync(folder, { recursive: true }))

test('it listens before the agents are resumed, and is ready after', async () => {
  const daemon = await start()
  const status = async () => (await ask(`${daemon.file.url}/ready`)).status
  const before = await status()
  await daemon.resume()

  expect([before, await status()]).toEqual([503, 200])
  await daemon.stop()
})

test('when the agents cannot be resumed, everything is closed again and the reason is told', async () => {
  const daemon = await start()
  orchestrator.resume = async () => {
    throw new Error('out of luck')
  }

  await expect(daemon.resume()).rejects.toThrow('out of luck')
  expect([orchestrator.isClosed(), existsSync(join(folder, 'daemon.json'))]).toEqual([true, false])
  await expect(ask(`${daemon.file.url}/health`)).rejects.toThrow('ECONNREFUSED')
})

test('what cannot be closed does not keep the rest open', async () => {
  const daemon = await start()
  orchestrator.close = async () => {
    throw new Error('it hangs on')
  }

  await expect(daemon.stop()).rejects.toThrow('it hangs on')
  const again = await start()
  await again.stop().catch(() => {})
})

function start() {
  return startDaemon({ dataDirectory: folder, version: '1', port: 0, openOrchestrator: async () => orchestrator })
}
