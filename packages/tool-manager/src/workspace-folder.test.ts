import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importServers } from '@matrix/manifest'
import { expect, test } from 'vitest'
import { offerWorkspace } from './workspace-folder.ts'

test('folders of this machine are offered as /workspace, files and options are left alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'matrix-folder-'))
  writeFileSync(join(folder, 'notes.db'), '')
  const argsOf = async (...args: string[]) => {
    const mcpServers = { fs: { command: 'npx', args: ['-y', 'fs@1.0.0', ...args] } }
    const [server] = importServers({ mcpServers }).manifest.servers
    if (server?.transport !== 'stdio') throw new Error('no server')
    const { draft, notes } = await offerWorkspace(server)
    return { args: draft.args.slice(2), notes: notes.length }
  }

  expect(await argsOf(folder)).toEqual({ args: ['/workspace'], notes: 1 })
  expect(await argsOf(folder, '/path/to/other/dir')).toEqual({ args: ['/workspace'], notes: 2 })
  expect(await argsOf('${workspaceFolder}/docs')).toEqual({ args: ['/workspace/docs'], notes: 1 })
  expect(await argsOf('~/surely-not-there')).toMatchObject({ notes: expect.any(Number) })
  for (const kept of [
    join(folder, 'notes.db'),
    '/etc',
    '/',
    '/workspace/a',
    '--root',
    '/srv/none',
    '/path/to/key.json',
  ])
    expect(await argsOf(kept), kept).toEqual({ args: [kept], notes: 0 })
})

test('what an author pinned stands as it is written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'matrix-folder-'))
  const [server] = importServers({ mcpServers: { fs: { command: 'npx', args: ['fs@1.0.0', folder] } } }).manifest
    .servers
  if (server?.transport !== 'stdio') throw new Error('no server')
  const pinned = { ...server, package_digest: `sha256:${'0123456789abcdef'.repeat(4)}` }

  expect(await offerWorkspace(pinned)).toEqual({ draft: pinned, notes: [] })
})
