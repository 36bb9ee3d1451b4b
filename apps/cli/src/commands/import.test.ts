import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folderWith, goodManifest, matrix } from '../matrix-process.testing.ts'

const client = `{
  // how people really write these
  "mcpServers": {
    "GitHub": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github@2025.4.8"], "env": { "GITHUB_TOKEN": "abcdefgh12345678" } },
    "old": { "type": "sse", "url": "https://old.example/sse" },
  },
}`

test('another program’s file becomes a draft on standard output, and what is left to do goes to standard error', async () => {
  const { stdout, stderr } = await matrix(['import', 'mcp.json'], { cwd: folderWith({ 'mcp.json': client }) })
  const draft = JSON.parse(stdout)

  expect(draft).toMatchObject({
    schema_version: 1,
    servers: [{ alias: 'github', transport: 'stdio', version: '2025.4.8' }],
  })
  expect(JSON.stringify(draft.servers[0].env)).toContain('$env:GITHUB_TOKEN')
  expect(stderr).toContain('GITHUB_TOKEN')
  expect(stdout + stderr).not.toContain('abcdefgh')
})

test('a server that only speaks SSE is refused with its rule and place', async () => {
  const { code, stderr } = await matrix(['import', 'mcp.json'], { cwd: folderWith({ 'mcp.json': client }) })

  expect(code).toBe(1)
  expect(stderr).toMatch(/error MX017 {2}mcp\.json:5:\d+/)
})

test('--out writes the draft whole, and does not replace a file unless told to', async () => {
  const cwd = folderWith({ 'mcp.json': client })
  await matrix(['import', 'mcp.json', '--out', 'draft.json', '--agent', 'mine'], { cwd })
  expect(JSON.parse(readFileSync(join(cwd, 'draft.json'), 'utf8'))).toMatchObject({ agent: 'matrix://agent/mine' })

  writeFileSync(join(cwd, 'draft.json'), 'mine')
  expect(await matrix(['import', 'mcp.json', '--out', 'draft.json'], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('draft.json exists already.'),
  })
  expect(readFileSync(join(cwd, 'draft.json'), 'utf8')).toBe('mine')
  await matrix(['import', 'mcp.json', '--out', 'draft.json', '--force'], { cwd })
  expect(readFileSync(join(cwd, 'draft.json'), 'utf8')).toContain('schema_version')
})

test('an output that cannot be written leaves nothing behind', async () => {
  const cwd = folderWith({ 'mcp.json': client })

  expect(await matrix(['import', 'mcp.json', '--out', 'no/such/draft.json'], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('cannot be written (ENOENT)'),
  })
  expect(existsSync(join(cwd, 'no'))).toBe(false)
})

test('what is not a file to import from is said, with what to do instead', async () => {
  const cwd = folderWith({ 'manifest.json': goodManifest, 'other.json': '{"a": 1}', 'broken.json': '{"mcpServers": ' })

  expect(await matrix(['import', 'manifest.json'], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Matrix manifest already'),
  })
  expect(await matrix(['import', 'other.json'], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('none of the formats'),
  })
  expect(await matrix(['import', 'broken.json'], { cwd })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('broken.json:1:16'),
  })
})

test('a name that no agent can have is refused, and a whole agent URI is understood', async () => {
  const cwd = folderWith({ 'mcp.json': client })

  expect((await matrix(['import', 'mcp.json', '--agent', 'bad name!'], { cwd })).code).toBe(2)
  expect(JSON.parse((await matrix(['import', 'mcp.json', '--agent', 'matrix://agent/x'], { cwd })).stdout).agent).toBe(
    'matrix://agent/x',
  )
})

test('hidden characters in the source are escaped in the draft that is printed', async () => {
  const hostile = JSON.stringify({ mcpServers: { a: { command: 'npx', args: ['\u009b31m\u202e##[debug]'] } } })
  const { stdout } = await matrix(['import', 'mcp.json'], { cwd: folderWith({ 'mcp.json': hostile }) })

  expect(stdout).not.toMatch(/[\u0080-\u009f\u202e]|##\[/)
  expect(JSON.stringify(JSON.parse(stdout))).toContain('\u202e')
})

test('--json gives draft, environment and findings to programs', async () => {
  const { stdout } = await matrix(['import', '--json', 'mcp.json'], { cwd: folderWith({ 'mcp.json': client }) })

  expect(JSON.parse(stdout)).toMatchObject({
    format: 'mcp-client',
    environment: ['GITHUB_TOKEN'],
    findings: expect.arrayContaining([expect.objectContaining({ rule: 'MX017' })]),
  })
})
