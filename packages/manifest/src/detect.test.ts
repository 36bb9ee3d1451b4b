import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { detectDocument } from './detect.ts'
import { verifyDocument } from './verify.ts'

test('an agent file with trailing commas is read, with a warning at the first of them', async () => {
  const bytes = readFileSync(new URL('../fixtures/agent-format/good/hooks-with-trailing-commas.json', import.meta.url))

  const { format, value, findings } = await detectDocument(bytes)
  expect({ format, value }).toMatchObject({ format: 'agent-format', value: { hooks: { agentSpawn: {} } } })
  expect(findings).toMatchObject([{ rule: 'MX001', severity: 'warning', line: 7 }])
  expect((await detectDocument(bytes, { mode: 'strict' })).findings).toMatchObject([{ severity: 'error', line: 7 }])
})

test('a manifest of Matrix with a trailing comma is refused', async () => {
  const { format, value, findings } = await detectDocument(Buffer.from('{"schema_version": 1, "servers": [],}'))

  expect({ format, value }).toEqual({ format: undefined, value: undefined })
  expect(findings).toMatchObject([{ rule: 'MX001', severity: 'error' }])
})

test('comments belong to the settings of VS Code', async () => {
  const { format, findings } = await detectDocument(Buffer.from('{"servers": {} /* none yet */}'))

  expect({ format, findings }).toEqual({ format: 'vscode', findings: [] })
})

test('a duplicate key is an error also behind a comment', async () => {
  const { value, findings } = await detectDocument(Buffer.from('{"mcpServers": {}, /* a */ "mcpServers": {}}'))

  expect(value).toBeUndefined()
  expect(findings.map(({ rule, severity }) => `${rule} ${severity}`)).toContain('MX001 error')
})

test('settings of another program are read with their comments, and are of no known format', async () => {
  const { format, value, findings } = await detectDocument(Buffer.from('{"compilerOptions": {} // none\n}'))

  expect({ format, value, findings }).toEqual({ format: undefined, value: { compilerOptions: {} }, findings: [] })
})

test.each([
  ['{ "tools": ["fs-read", "@native/execute-bash", "@git"] }'],
  ['{ "allowedTools": ["fs-read", "@git/git-status", "@my-enterprise-mcp"] }'],
  ['{ "toolsSettings": { "fs-write": { "allowedPaths": [".", "/var/www/**"] } } }'],
  ['{ "resources": ["file://AmazonQ.md", "file:///tmp/my-application-logs.txt"] }'],
  ['{ "hooks": { "agentSpawn": { "command": "git status", }, } }'],
])('%s is a part of an agent, and is called like its file', async (text) => {
  const { format, value, findings } = await detectDocument(Buffer.from(text), { fileName: 'My agent.json' })

  expect({ format, value }).toMatchObject({ format: 'agent-format', value: { name: 'My-agent' } })
  expect(findings).toContainEqual(expect.objectContaining({ rule: 'MX026', severity: 'warning' }))
})

test('an agent without a name and without a file keeps none', async () => {
  const { value, findings } = await detectDocument(Buffer.from('{ "tools": ["fs-read"] }'))

  expect({ value, findings }).toEqual({ value: { tools: ['fs-read'] }, findings: [] })
})

test.each([
  ['{ "name": "x", "version": "1.0.0", "scripts": {} }'],
  ['{ "hooks": { "PreToolUse": [] } }'],
  ['{ "tools": [{ "name": "x" }] }'],
])('%s is no agent', async (text) => {
  expect((await detectDocument(Buffer.from(text))).format).toBeUndefined()
})

test('a Markdown file is an agent, and a skill under the name that skills have', async () => {
  const agent = Buffer.from('---\ndescription: Reviews\ntools: Read\n---\nReview.')
  expect(await detectDocument(agent, { fileName: 'reviewer.md' })).toMatchObject({
    format: 'agent-format',
    value: { name: 'reviewer', prompt: 'Review.' },
  })
  expect((await verifyDocument(agent)).findings).toMatchObject([
    { rule: 'MX001', severity: 'warning', message: 'The agent has no "version".' },
    { rule: 'MX026', severity: 'error' },
  ])
  const skill = Buffer.from('---\nname: review\ndescription: Reviews\nallowed-tools: Read\n---\nReview.')
  expect(await detectDocument(skill, { fileName: 'SKILL.md' })).toMatchObject({
    format: 'agent-skill',
    value: { name: 'review', allowedTools: { search: {} } },
  })
  expect(await detectDocument(Buffer.from('# Read me'), { fileName: 'README.md' })).toMatchObject({
    format: undefined,
    value: undefined,
    findings: [{ severity: 'error' }],
    syntax: 'Markdown',
  })
})
