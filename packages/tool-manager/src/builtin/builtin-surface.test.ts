import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serverSurfaceDigest } from '@matrix/manifest'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, test } from 'vitest'
import { builtinSurfaces } from './builtin-surface.ts'

test('what is known of the built-in tools without starting them is what they say when started', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'matrix-surface-'))
  const file = join(folder, 'serve-tools.mjs')
  execFileSync(process.execPath, [fileURLToPath(new URL('../../bundle.mjs', import.meta.url)), file])
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [file, '--root', folder] }))
  const { tools } = await client.listTools().finally(() => client.close())
  rmSync(folder, { recursive: true })

  expect(builtinSurfaces()).toEqual(tools.map(({ execution: _, ...tool }) => expect.objectContaining(tool)))
  expect(serverSurfaceDigest(builtinSurfaces())).toBe(serverSurfaceDigest(tools))
}, 60_000)
