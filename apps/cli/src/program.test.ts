import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { folderWith, matrix } from './matrix-process.testing.ts'

test('help names every command with what it is for, and the exit codes', async () => {
  const { code, stdout } = await matrix(['--help'])

  expect(code).toBe(0)
  for (const command of [
    'verify',
    'lock',
    'tools',
    'call',
    'doctor',
    'mock-provider',
    'import',
    'digest',
    'diff',
    'explain',
    'snapshots',
    'completion',
    'init',
    'send',
    'inbox',
    'tree',
    'watch',
    'logs',
    'task',
    'merge',
    'daemon',
  ])
    expect(stdout).toMatch(new RegExp(`^  ${command} .*\\w`, 'm'))
  expect(stdout).toContain('0 ok · 1 findings · 2 usage or unreadable file · 3 tool error\n')
})

test('without a command, help is shown and the outcome is a usage error', async () => {
  expect(await matrix([])).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage: matrix') })
})

test('an unknown command suggests the nearest', async () => {
  expect(await matrix(['verfy'])).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean verify?') })
})

test('an unknown option and a missing argument are usage errors', async () => {
  expect(await matrix(['verify', '--ofline', 'x'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean --offline?'),
  })
  expect(await matrix(['verify'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("missing required argument 'path'"),
  })
})

test('options that contradict each other are refused', async () => {
  expect((await matrix(['verify', '--strict', '--bootstrap', 'x'])).code).toBe(2)
  expect((await matrix(['verify', '--json', '--sarif', 'x'])).code).toBe(2)
})

test('a word that is none of the commands of a group is told so, with the commands that there are', async () => {
  const known = 'start, stop, restart, status, logs, install'

  expect(await matrix(['daemon', 'begin'])).toEqual({
    code: 2,
    stdout: '',
    stderr: `error: unknown command 'begin'\n(matrix daemon has ${known})\n(matrix daemon --help says what it takes)\n`,
  })
  for (const group of ['projects', 'config', 'auth', 'device', 'worktrees', 'snapshots'])
    expect((await matrix([group, 'begin'])).stderr, group).toContain("unknown command 'begin'")
})

test('wrong usage is told to programs as JSON too', async () => {
  const wrong = async (...args: string[]) => JSON.parse((await matrix([...args, '--json'])).stdout)

  expect(await wrong('tree', '--wacth')).toEqual({
    error: { code: 'REQUEST_INVALID', message: "unknown option '--wacth'", hint: 'Did you mean --watch?' },
  })
  expect(await wrong('send')).toMatchObject({ error: { message: "missing required argument 'task'" } })
  expect(await wrong('daemon', 'begin')).toMatchObject({
    error: { message: "unknown command 'begin'", hint: expect.stringContaining('matrix daemon has start') },
  })
})

test('the version is printed alone', async () => {
  expect(await matrix(['--version'])).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: '',
  })
})

test('an error is told to programs as JSON and to people as a sentence', async () => {
  const { code, stdout, stderr } = await matrix(['uri', '--json', 'matrix://tool/mcp/fs/read'])

  expect(code).toBe(2)
  expect(JSON.parse(stdout)).toEqual({
    error: {
      code: 'ErrUnpinnedTool',
      message: expect.stringContaining('without a version'),
      hint: expect.stringContaining('@sha256:'),
    },
  })
  expect(stderr).toContain('error: Tool URI without a version or digest: matrix://tool/mcp/fs/read')
})

test('a URI is taken apart', async () => {
  expect((await matrix(['uri', 'matrix://tool/mcp/fs/read_file@2026.8.31'])).stdout).toBe(
    'kind      tool\nserver    fs\ntool      read_file\npin       2026.8.31\npinnedBy  version\n',
  )
  expect(JSON.parse((await matrix(['uri', '--json', 'matrix://agent/neo'])).stdout)).toEqual({
    uri: 'matrix://agent/neo',
    kind: 'agent',
    name: 'neo',
  })
})

test('a rule is explained by its id, a locked design rule by the rules behind it, and all are listed', async () => {
  expect((await matrix(['explain', 'mx010'])).stdout).toMatch(/^MX010: .*\n.*Q21\n\n.*same set.*\n\nFix: /s)
  expect((await matrix(['explain', 'Q21'])).stdout.split('\n').filter(Boolean)).toHaveLength(3)
  expect((await matrix(['explain'])).stdout.split('\n').filter(Boolean).length).toBeGreaterThan(25)
  expect(await matrix(['explain', 'MX999'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no rule MX999.'),
  })
})

test('the schema is printed as JSON', async () => {
  expect(JSON.parse((await matrix(['schema'])).stdout)).toMatchObject({
    $schema: 'http://json-schema.org/draft-07/schema#',
    required: expect.arrayContaining(['allowed_side_effects']),
  })
})

test('the schema is written over a file only when asked to', async () => {
  const cwd = folderWith({ 'mine.json': '{}' })

  expect(await matrix(['schema', '--out', 'mine.json'], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('mine.json exists already'),
  })
  expect(await matrix(['schema', '--out', 'mine.json', '--force'], { cwd })).toMatchObject({ code: 0 })
  expect(await matrix(['schema', '--out', 'other.json'], { cwd })).toMatchObject({ code: 0 })
})

test('the bash completion completes commands, their options, rules and shells', async () => {
  const { stdout } = await matrix(['completion', 'bash'])
  const complete = (line: string) => {
    const words = line.split(' ')
    const script = `${stdout}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _matrix; echo "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8', cwd: '/' }).trim()
  }

  expect(complete('matrix ver')).toBe('verify')
  expect(complete('matrix verify --st')).toBe('--strict')
  expect(complete('matrix task cre')).toBe('create')
  expect(complete('matrix task create --dra')).toBe('--draft')
  expect(complete('matrix daemon st')).toBe('start stop status')
  expect(complete('matrix tools ap')).toBe('approve')
  expect(complete('matrix explain MX01')).toBe('MX010 MX011 MX012 MX013 MX014 MX015 MX016 MX017 MX018 MX019')
  expect(complete('matrix completion ')).toContain('bash zsh fish')
  for (const shell of ['zsh', 'fish']) expect((await matrix(['completion', shell])).stdout).toContain('verify')
  for (const shell of ['cmd', 'constructor', '__proto__'])
    expect(await matrix(['completion', shell])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no completion for'),
    })
})
