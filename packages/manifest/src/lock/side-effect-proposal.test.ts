import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { SideEffect } from '../manifest/manifest.ts'
import { proposeSideEffect } from './side-effect-proposal.ts'
import { ToolSurface } from './surface.ts'

const strength: SideEffect[] = ['read', 'write', 'network', 'shell']

test('no recorded tool is proposed a weaker class than the one it has', () => {
  const weaker: string[] = []
  for (const { file, tool } of recordedTools()) {
    const proposed = proposeSideEffect(tool).class
    if (strength.indexOf(proposed) < strength.indexOf(classOf(file, tool.name)))
      weaker.push(`${tool.name}: ${proposed}`)
  }
  // It starts a downloader behind the scenes, which nothing in its definition tells.
  expect(weaker).toEqual(['fetch_youtube_transcript: network'])
})

test('nearly every recorded tool is proposed exactly the class it has', () => {
  const tools = recordedTools()
  const right = tools.filter(({ file, tool }) => proposeSideEffect(tool).class === classOf(file, tool.name))
  expect(right.length / tools.length).toBeGreaterThan(0.9)
})

test('a name that holds "run" is no reason for shell, and doubt is said to be doubt', () => {
  const proposalOf = (tool: Partial<ToolSurface>) => proposeSideEffect({ name: 'x', inputSchema: {}, ...tool })
  const open = { annotations: { openWorldHint: true } }

  expect(proposalOf({ name: 'get_workflow_run', ...open })).toMatchObject({ class: 'network' })
  expect(proposalOf({ name: 'list_scripts', annotations: { openWorldHint: false } })).toMatchObject({ class: 'read' })
  expect(proposalOf({ name: 'console_messages', description: 'Returns messages of the page.' }).isDoubtful).toBe(true)
  expect(proposalOf({ name: 'rerun_checks', ...open })).not.toHaveProperty('isDoubtful')
  for (const name of ['run_query', 'run', 'execute', 'frobnicate', 'get_order'])
    expect(proposalOf({ name }), name).toMatchObject({ isDoubtful: true })
  for (const name of ['run_command', 'execute_code', 'bash', 'open_terminal'])
    expect(proposalOf({ name }), name).not.toHaveProperty('isDoubtful')
})

test.each<[Partial<ToolSurface>, string, string]>([
  [{ name: 'run_command' }, 'shell', 'its name says that it runs a command'],
  [
    { name: 'helper', description: 'Executes any shell commands you like.' },
    'shell',
    'its description speaks of "Executes any shell commands"',
  ],
  [{ name: 'send_email' }, 'network', 'its name says "send"'],
  [{ name: 'lookup', description: 'Looks it up on the web.' }, 'network', 'its description speaks of "web"'],
  [{ name: 'get_page', inputSchema: { properties: { base_url: {} } } }, 'network', 'it takes a parameter "base_url"'],
  [
    { name: 'getFileInfo', annotations: { openWorldHint: true } },
    'network',
    'its server says that it reaches out into the open world',
  ],
  [
    { name: 'get_order' },
    'network',
    'its name says "get" and nothing says that it changes anything, and nothing says that it stays on this machine',
  ],
  [
    { name: 'get_file', inputSchema: { properties: { path: {} } } },
    'read',
    'its name says "get" and nothing says that it changes anything',
  ],
  [{ name: 'deleteFile', inputSchema: { properties: { path: {} } } }, 'write', 'its name says "delete"'],
  [
    { name: 'notes', description: 'Stores a note.', annotations: { openWorldHint: false } },
    'write',
    'its description begins with "store"',
  ],
  [
    { name: 'think', annotations: { readOnlyHint: true, openWorldHint: false } },
    'read',
    'only its server says that it is read-only',
  ],
  [{ name: 'frobnicate' }, 'shell', 'neither its name nor its server says what it does, so it may do anything'],
  [
    { name: 'frobnicate', annotations: { destructiveHint: true, openWorldHint: false } },
    'write',
    'its server says that it is destructive',
  ],
])('%j is proposed %s because %s', (tool, expected, reason) => {
  expect(proposeSideEffect({ name: 'x', inputSchema: {}, ...tool })).toMatchObject({ class: expected, reason })
})

test('what a server says in its own favour never outweighs a sign of more', () => {
  const annotations = { readOnlyHint: true, destructiveHint: false, openWorldHint: false }
  const signs: [Partial<ToolSurface>, string][] = [
    [{ name: 'execute' }, 'shell'],
    [{ name: 'upload_report' }, 'network'],
    [{ name: 'get', inputSchema: { properties: { url: {} } } }, 'network'],
    [{ name: 'remove_or_delete' }, 'write'],
  ]
  for (const [tool, expected] of signs)
    expect(proposeSideEffect({ name: 'x', inputSchema: {}, ...tool, annotations }).class).toBe(expected)
})

/** As a person classified them after reading what they do. */
function classOf(file: string, name: string): SideEffect {
  if (/github|fetch|brave|context7/.test(file)) return name === 'fetch_youtube_transcript' ? 'shell' : 'network'
  if (name === 'gzip-file-as-resource') return 'network'
  if (/^(?:toggle-|simulate-|write_|edit_|move_|create_|add_|delete_)/.test(name)) return 'write'
  return 'read'
}

function recordedTools(): { file: string; tool: ToolSurface }[] {
  const folder = new URL('../../fixtures/surfaces/', import.meta.url)
  return readdirSync(folder).flatMap((file) => {
    const tools: unknown[] = JSON.parse(readFileSync(new URL(file, folder), 'utf8')).tools
    return tools.map((tool) => ({ file, tool: ToolSurface.parse(tool) }))
  })
}
