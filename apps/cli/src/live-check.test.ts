import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Manifest } from '@matrix/manifest'
import { expect, onTestFinished, test, vi } from 'vitest'
import { checkLive } from './live-check.ts'
import { formatTextReport } from './text-report.ts'

test('a remote server is never said to be sandboxed or to have verified bytes', async () => {
  const endpoint = await listen()
  const server = {
    alias: 'far',
    transport: 'http' as const,
    endpoint,
    version: '1.0.0',
    package_digest: `sha256:${'a'.repeat(64)}`,
    tools: [],
  }
  const manifest: Manifest = {
    schema_version: 1,
    agent: 'matrix://agent/plain',
    allowed_side_effects: ['read'],
    servers: [server],
  }
  const folder = mkdtempSync(join(tmpdir(), 'matrix-live-'))
  vi.stubEnv('MATRIX_DATA_DIR', folder)
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(folder, { recursive: true, force: true })
  })
  const agent = {
    manifest,
    lock: undefined,
    policy: undefined,
    base: folder,
    serversPath: ['servers'],
    lockFiles: undefined,
  }
  const { servers } = await checkLive(agent, { unsandboxed: true })

  expect(servers).toMatchObject([{ alias: 'far', way: 'remote', hasVerifiedBytes: false }])
  const report = {
    file: 'a.json',
    summary: '',
    format: undefined,
    value: undefined,
    text: '',
    findings: [],
    servers: servers.map((each) => ({ ...each, status: 'verified' as const })),
  }
  const text = formatTextReport([report], '')
  expect(text).toContain('remote: neither its bytes nor a sandbox can be checked')
  expect(text).not.toMatch(/, (?:not )?sandboxed/)
}, 60_000)

/** Something that answers, and is no server of tools. */
async function listen(): Promise<string> {
  const server = createServer((_, response) => void response.writeHead(404).end())
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}
