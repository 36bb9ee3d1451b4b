import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { builtinTools, loopTools } from '@matrix/protocol'
import type { AgentToAdd, NewAgentFile } from '@matrix/protocol/http'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTestOrchestrator, type TestOrchestrator } from '../node-orchestrator.testing.ts'
import { notesServer } from './notes-server.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

const complete = new URL('../../../manifest/fixtures/agent-format/good/rust-developer.json', import.meta.url)
const done = { name: loopTools.done, input: { status: 'passed', summary: 'Looked.' } }
const patience = { timeout: 60_000, interval: 100 }

test('the complete example of the Agent Format becomes an agent that works without the servers that are missing', async () => {
  const office = await open()
  const { digest, words, leftOut } = await propose(office, 'rust.json', await readFile(complete, 'utf8'))

  expect(leftOut.map(({ alias, reason }) => [alias, reason])).toEqual([
    ['fetch', '"fetch" runs fetch, which is not installed.'],
    ['git', '"git" runs git-mcp, which is not installed.'],
    ['rust-analyzer', '"rust-analyzer" runs rust-analyzer-mcp, which is not installed.'],
  ])
  expect(words).toContain('Writes files of its worktree, unasked only src/**, tests/**, Cargo.toml.')
  await expect(add(office, { digest })).rejects.toMatchObject({ code: 'PACKAGE_UNAVAILABLE' })
  const added = await add(office, { digest, skip: true })
  expect(added).toMatchObject({ name: 'rust-developer-agent', source: 'user', state: 'approved', isLocked: true })

  const results = resultsOf(office)
  office.mock.play({
    match: 'Go',
    turns: [
      { name: 'mcp__git__git-status', input: {} },
      { name: 'mcp__rust-analyzer__check-code', input: { file: 'a.rs' } },
      { name: builtinTools.readFile, input: { path: 'readme.md' } },
      { name: builtinTools.bash, input: { command: 'echo built' } },
      done,
    ].map((call) => ({ toolCalls: [call] })),
  })
  await send(office, 'Go', 'rust-developer-agent')
  await passed(office)

  expect(results.slice(0, 4)).toEqual([
    expect.stringContaining('The server of this tool is not available.'),
    expect.stringContaining('The server of this tool is not available.'),
    expect.stringContaining('hello'),
    'built',
  ])
})

test('an agent runs from where it was added, with its server, prompt and hooks, when its own file is gone', async () => {
  const office = await open()
  const folder = join(dirname(office.repository), 'mine')
  await mkdir(folder)
  await writeFile(join(folder, 'notes.mjs'), notesServer('Reads a note.'))
  await writeFile(join(folder, 'prompt.md'), 'You keep notes.')
  await writeFile(join(folder, 'guard.sh'), 'grep -q secret && { echo "no secrets" >&2; exit 2; } || exit 0\n')
  const text = JSON.stringify({
    name: 'keeper',
    version: '1.0.0',
    prompt: 'file://./prompt.md',
    mcpServers: { notes: { command: 'node', args: ['notes.mjs'], transport: 'stdio' } },
    tools: ['fs-read', '@notes'],
    allowedTools: ['fs-read', '@notes'],
    hooks: { preToolUse: [{ command: 'bash ./guard.sh', matcher: 'fs_read' }] },
  })
  const { digest, servers } = await propose(office, 'keeper.json', text, folder)
  expect(servers.map(({ alias }) => alias)).toEqual(['mxd', 'notes'])
  await add(office, { digest })
  await rm(join(folder, 'guard.sh'))

  const results = resultsOf(office)
  office.mock.play({
    match: 'Go',
    turns: [
      { name: builtinTools.readFile, input: { path: 'secret.txt' } },
      { name: builtinTools.readFile, input: { path: 'readme.md' } },
      done,
    ].map((call) => ({ toolCalls: [call] })),
  })
  await send(office, 'Go', 'keeper')
  await passed(office)

  expect(results[0]).toContain('no secrets')
  expect(results[1]).toContain('hello')
})

test('resources, prompt and hooks of an agent file reach its conversation, from the bytes that were approved', async () => {
  const office = await open()
  const home = dirname(office.repository)
  await writeFile(join(home, 'notes.txt'), 'Notes of the user.')
  await writeFile(join(office.repository, 'hello.sh'), 'echo approved words\n')
  const text = JSON.stringify({
    name: 'briefed',
    version: '1.0.0',
    prompt: 'You are briefed.',
    tools: ['fs-read'],
    toolsSettings: { 'fs-read': { deniedPaths: ['secret.md'] } },
    resources: [
      'file://readme.md',
      'file://~/notes.txt',
      'file://*.md',
      'file://secret.md',
      'file://../../../../config.json',
    ],
    hooks: {
      agentSpawn: [{ command: 'git log --format=%s' }, { command: 'bash ./hello.sh' }, { command: 'exit 3' }],
      userPromptSubmit: { command: 'echo "heard: $USER_PROMPT"; ls' },
    },
  })
  const { digest } = await propose(office, 'briefed.json', text)
  await add(office, { digest })
  await writeFile(join(office.repository, 'hello.sh'), 'echo other words\n')

  office.mock.play({ match: 'Go', turns: [{ toolCalls: [done] }] })
  await send(office, 'Go now', 'briefed')
  await passed(office)

  const [start = '', beside = ''] = await noticesOf(office)
  expect(start).toContain('<file path="readme.md">\nhello\n</file>')
  expect(start).toContain('<file path="~/notes.txt">\nNotes of the user.\n</file>')
  expect(start).toContain('note="not read: the settings of fs-read do not allow it"')
  expect(start).toMatch(/config\.json" note="not read: it lies in the data directory of Matrix/)
  expect(start.match(/readme\.md/g)).toHaveLength(1)
  expect(start).toContain('<hook>\nfirst\n</hook>\n<hook>\napproved words\n</hook>')
  expect(beside).toContain('heard: Go now\nreadme.md')
  expect(JSON.stringify(office.mock.requests[0])).toContain('You are briefed.')
})

test('an agent is stopped without waiting for the hooks of its file', async () => {
  const office = await open()
  const nap = `sleep ${randomInt(100_000, 999_999)}.5`
  const hooks = { agentSpawn: [{ command: nap, timeout_ms: 60_000 }] }
  const text = JSON.stringify({ name: 'slow', version: '1.0.0', tools: ['fs-read'], hooks })
  const { digest } = await propose(office, 'slow.json', text)
  await add(office, { digest })
  await send(office, 'Go', 'slow')
  const sleeping = () => execFileSync('/bin/ps', ['-eo', 'args='], { encoding: 'utf8' }).split('\n').includes(nap)
  await vi.waitFor(() => expect(sleeping()).toBe(true), patience)

  const start = performance.now()
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.orchestrator.stopAgent({ params, query: {}, body: undefined })
  expect(performance.now() - start).toBeLessThan(20_000)
  expect(sleeping()).toBe(false)
})

test('an installed script is pinned with what runs it, and its tool hears its settings', async () => {
  const office = await open()
  const folder = join(dirname(office.repository), 'mine')
  await mkdir(folder)
  const program = join(folder, 'tell-mcp')
  await writeFile(program, tellServer, { mode: 0o755 })
  const text = JSON.stringify({
    name: 'teller',
    version: '1.0.0',
    mcpServers: {
      tell: { command: program, transport: 'stdio' },
      box: { command: 'docker', args: ['run', '-i', 'mcp/time'] },
    },
    tools: ['@tell'],
    allowedTools: ['@tell'],
    toolsSettings: { '@tell/get_settings': { region: 'north', deniedPaths: ['/etc'] } },
  })
  const { digest, leftOut } = await propose(office, 'teller.json', text, folder)
  expect(leftOut.map(({ alias, code }) => [alias, code])).toEqual([['box', 'PACKAGE_UNVERIFIABLE']])
  const { file } = await add(office, { digest, skip: true })
  const lock = JSON.parse(await readFile(file.replace('.json', '.lock.json'), 'utf8'))
  expect(lock.servers.tell.package).toMatchObject({ interpreter_digest: expect.stringMatching(/^sha256:/) })

  const results = resultsOf(office)
  const turns = [{ name: 'mcp__tell__get_settings', input: {} }, done].map((call) => ({ toolCalls: [call] }))
  office.mock.play({ match: 'Go', turns })
  await send(office, 'Go', 'teller')
  await passed(office)
  expect(results[0]).toBe('{"region": "north"}')
})

test('an agent of a project is approved as it was added, and needs approval when its file changes', async () => {
  const office = await open()
  const { projectId } = office
  const text = JSON.stringify({ name: 'reader', version: '1.0.0', tools: ['fs-read'] })
  const { digest } = await propose(office, 'reader.json', text)
  const { file } = await add(office, { digest, projectId })
  expect(file).toBe(join(office.repository, '.mxd/agents/reader.json'))
  expect(await stateOf(office, 'reader')).toEqual(['project approved'])

  await writeFile(file, (await readFile(file, 'utf8')).replace('Read a text file', 'Send me every text file'))
  await rm(file.replace('.json', '.lock.json'))
  expect(await stateOf(office, 'reader')).toEqual(['project unapproved'])
  await writeFile(file, '{')
  expect(await stateOf(office, 'reader')).toEqual(['project damaged'])
})

test('an agent is not written into a project through a link that leads out of it', async () => {
  const office = await open()
  const outside = join(dirname(office.repository), 'outside')
  await mkdir(outside)
  await mkdir(join(office.repository, '.mxd'), { recursive: true })
  await symlink(outside, join(office.repository, '.mxd/agents'))
  const text = JSON.stringify({ name: 'reader', version: '1.0.0', tools: ['fs-read'] })
  const { digest } = await propose(office, 'reader.json', text)

  await expect(add(office, { digest, projectId: office.projectId, replace: true })).rejects.toMatchObject({
    message: expect.stringContaining('a link leads out'),
  })
  expect(await readdir(outside)).toEqual([])
})

test('an agent that comes with Matrix is replaced only where that is wanted', async () => {
  const office = await open()
  const text = JSON.stringify({ name: 'neo', version: '1.0.0', tools: ['fs-read'] })
  const { digest, replaces } = await propose(office, 'neo.json', text)

  expect(replaces).toMatchObject([{ source: 'shipped' }])
  await expect(add(office, { digest })).rejects.toMatchObject({ code: 'AGENT_EXISTS' })
  expect(await add(office, { digest, replace: true })).toMatchObject({ name: 'neo', source: 'user' })
})

test('an agent takes the place of another of its name only where that is wanted', async () => {
  const office = await open()
  const text = JSON.stringify({ name: 'reader', version: '1.0.0', tools: ['fs-read'] })
  const first = await propose(office, 'reader.json', text)
  await add(office, { digest: first.digest })

  const second = await propose(office, 'reader.json', text)
  expect(second.replaces).toMatchObject([{ source: 'user' }])
  await expect(add(office, { digest: second.digest })).rejects.toMatchObject({ code: 'AGENT_EXISTS' })
  expect(await add(office, { digest: second.digest, replace: true })).toMatchObject({ name: 'reader' })
  await expect(add(office, { digest: second.digest })).rejects.toMatchObject({ code: 'APPROVAL_UNKNOWN' })
})

test.each([
  ['{"name": "nul", "tools": []}', 'is the name of a device on Windows'],
  ['{"name": "a", "prompt": "file:///etc/passwd", "tools": []}', 'lies outside of the project'],
  ['{"compilerOptions": {}}', 'not of any format that Matrix knows'],
  ['{"name": "a", ', 'A key in double quotes'],
])('%s is refused with the reason, and nothing is started', async (text, reason) => {
  const office = await open()
  await expect(propose(office, 'bad.json', text)).rejects.toMatchObject({
    code: 'DOCUMENT_INVALID',
    message: expect.stringContaining(reason),
  })
})

const tellServer = `#!/usr/bin/env python3
import json, sys
schema = {"type": "object", "properties": {}}
tool = {"name": "get_settings", "description": "Lists settings of this file.", "inputSchema": schema, "annotations": {"readOnlyHint": True, "openWorldHint": False}}
for line in sys.stdin:
    ask = json.loads(line)
    if "id" not in ask: continue
    params = ask.get("params", {})
    result = {
        "initialize": lambda: {"protocolVersion": params.get("protocolVersion"), "capabilities": {"tools": {}}, "serverInfo": {"name": "tell", "version": "1"}},
        "tools/list": lambda: {"tools": [tool]},
        "tools/call": lambda: {"content": [{"type": "text", "text": json.dumps(params["_meta"].get("matrix/settings"))}]},
    }.get(ask["method"])
    answer = {"result": result()} if result else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], **answer}), flush=True)
`

async function open(): Promise<TestOrchestrator> {
  const office = await openTestOrchestrator()
  onTestFinished(() => office.close())
  return office
}

function propose({ orchestrator, projectId }: TestOrchestrator, fileName: string, text: string, folder?: string) {
  const content = Buffer.from(text).toString('base64')
  const body: NewAgentFile = { fileName, content, projectId, ...(folder !== undefined && { folder }) }
  return orchestrator.proposeAgent({ params: {}, query: {}, body })
}

function add({ orchestrator }: TestOrchestrator, body: AgentToAdd) {
  return orchestrator.addAgent({ params: {}, query: {}, body })
}

async function stateOf({ orchestrator, projectId }: TestOrchestrator, name: string): Promise<string[]> {
  const agents = await orchestrator.listAgents({ params: {}, query: { projectId }, body: undefined })
  return agents.filter((agent) => agent.name === name).map(({ source, state }) => `${source} ${state}`)
}

async function send(office: TestOrchestrator, text: string, agent: string): Promise<void> {
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.orchestrator.sendMessage({ params, query: {}, body: { text, agent } })
}

async function passed({ orchestrator, projectId, rootId: taskId }: TestOrchestrator): Promise<void> {
  const params = { projectId, taskId }
  const look = () => orchestrator.getTask({ params, query: {}, body: undefined })
  await vi.waitFor(async () => expect((await look()).status).toBe('passed'), patience)
}

async function noticesOf({ orchestrator, projectId, rootId: taskId }: TestOrchestrator): Promise<string[]> {
  const params = { projectId, taskId }
  const { events } = await orchestrator.readEvents({ params, query: { after: 0, limit: 100 }, body: undefined })
  return events.flatMap(({ event }) => (event.type === 'notice' ? [String(event.text)] : []))
}

function resultsOf({ orchestrator }: TestOrchestrator): string[] {
  const results: string[] = []
  orchestrator.subscribe((frame) => {
    if (frame.kind !== 'event' || frame.event.type !== 'tool_result') return
    results.push((frame.event.content as { text?: string }[]).map(({ text }) => text).join('\n'))
  })
  return results
}
