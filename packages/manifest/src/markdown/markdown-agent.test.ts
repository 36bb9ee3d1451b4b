import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkAgentFormat } from '../agent-format/agent-format-check.ts'
import { readMarkdownAgent } from './markdown-agent.ts'

const read = (front: string, fileName = 'from-file.md', body = '\nDo it.\n') =>
  readMarkdownAgent(Buffer.from(`---\n${front}\n---\n${body}`), { fileName })

test('a sub agent of Claude Code becomes an agent with its prompt, model and tools', () => {
  const { value, findings } = read(
    'name: reviewer\ndescription: >\n  Reviews changes.\n  Use it often.\ntools: Read, Grep, Bash(git diff:*), mcp__docs__find\nmodel: opus\ncolor: purple',
  )
  const tools = ['read_file', 'list_files', 'search', 'bash', 'background', '@docs/find']

  expect(findings).toEqual([])
  expect(value).toEqual({
    name: 'reviewer',
    description: 'Reviews changes. Use it often.\n',
    prompt: 'Do it.',
    model: 'opus',
    tools,
    allowedTools: tools,
    toolsSettings: { bash: { allowedCommands: ['git diff(?:\\s.*)?'], denyByDefault: true } },
  })
  expect(checkAgentFormat(value).policy).toMatchObject({ model: 'opus', prompt: 'Do it.' })
})

test('without a list of tools an agent has all, without those that the file forbids', () => {
  expect(read('name: a').value).toMatchObject({ tools: ['*'], allowedTools: ['@builtin'] })
  expect(read('name: a\ndisallowedTools: Bash, Write').value).toMatchObject({
    tools: ['read_file', 'list_files', 'search'],
    allowedTools: ['read_file', 'list_files', 'search'],
  })
  expect(read('name: a\ntools: []').value).toMatchObject({ tools: [], allowedTools: [] })
  expect(read('name: a\nmodel: inherit').value).not.toHaveProperty('model')
})

test('a line of tools that cannot be read gives an agent none, also where it forbids', () => {
  for (const field of ['tools', 'disallowedTools']) {
    const { value, findings } = read(`name: a\n${field}: Write, Bash(git`)
    expect(findings).toMatchObject([{ rule: 'MX001', severity: 'error', line: 3 }])
    if (value) expect(value).toMatchObject({ tools: [], allowedTools: [] })
  }
})

test('an agent of opencode has the name of its file, and its switches and permissions', () => {
  expect(
    read('description: Plans\nmode: subagent\ntools:\n  write: false\n  edit: false\n  bash: false').value,
  ).toMatchObject({
    name: 'from-file',
    tools: ['read_file', 'list_files', 'search'],
  })
  const { value } = read(
    'description: x\npermission:\n  edit: ask\n  bash:\n    "*": deny\n    "git *": allow\n    "git push*": deny',
  )
  expect(value).toMatchObject({
    allowedTools: expect.not.arrayContaining(['edit_file', 'write_file']),
    toolsSettings: {
      bash: { allowedCommands: ['git(?:\\s.*)?'], deniedCommands: ['git push.*'], denyByDefault: true },
    },
  })
  expect(read('description: x\ntools:\n  "*": false\n  read: true').value).toMatchObject({
    tools: ['read_file', 'list_files', 'search'],
  })
})

test('an agent of Kiro keeps its servers and leaves out what it excludes', () => {
  const { value, findings } = read(
    'name: k\ntools: ["*"]\nexcludedTools: [shell]\nmcpServers:\n  git:\n    command: git-mcp\npermissions:\n  - capability: shell\n    effect: deny',
  )
  expect(value).toMatchObject({ mcpServers: { git: { command: 'git-mcp' } } })
  expect((value as { tools: string[] }).tools).toEqual(expect.not.arrayContaining(['bash', 'background']))
  expect((value as { tools: string[] }).tools).toEqual(expect.arrayContaining(['@git', 'read_file']))
  expect(findings).toMatchObject([{ rule: 'MX029', severity: 'warning', line: 8 }])
})

test('what cannot be meant here is found at its line', () => {
  const { findings } = read('name: Front End\ntools:\n  - Read\n  - WebSearch\neffort: high', 'x.md', '')
  expect(findings.map(({ line, rule, severity }) => `${line} ${rule} ${severity}`)).toEqual([
    '1 MX001 warning',
    '2 MX026 warning',
    '5 MX027 note',
    '6 MX029 note',
  ])
})

test('a finding in what was made out of tools points at tools', () => {
  const { source } = read('name: x\ntools: mcp__a__b')
  expect(source.locate(['allowedTools', 0])).toMatchObject({ line: 3 })
})

test('no front matter makes it throw, and no agent may do more than its file lists', () => {
  const tool = fc.constantFrom('Read', 'Bash', 'Bash(git:*)', 'Edit', 'mcp__x__y', 'WebFetch', 'nonsense', '*x', 'Task')
  fc.assert(
    fc.property(fc.array(tool), fc.array(tool), (tools, forbidden) => {
      const { value } = read(`name: a\ntools: ${JSON.stringify(tools)}\ndisallowedTools: ${JSON.stringify(forbidden)}`)
      const { tools: has } = value as { tools: string[] }
      const may = (name: string, given: string[]) => given.some((each) => each.startsWith(name))
      if (has.includes('bash')) expect(may('Bash', tools) && !forbidden.includes('Bash')).toBe(true)
      if (has.includes('write_file')) expect(tools.includes('Edit') && !forbidden.includes('Edit')).toBe(true)
    }),
  )
  fc.assert(fc.property(fc.string(), (front) => void read(front)))
})
