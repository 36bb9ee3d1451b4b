import { readdirSync, readFileSync } from 'node:fs'
import { MatrixError } from '@matrix/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { madeUpToken } from './manifest/credential.testing.ts'
import { verifyDocument } from './verify.ts'

const fixtures = new URL('../fixtures/', import.meta.url)
const families = ['matrix', 'agent-format', 'gpars', 'locks', 'import']
const files = families.flatMap((family) => jsonFiles(new URL(`${family}/`, fixtures)))

test('each family of documents is recognised and described', async () => {
  const verified = async (text: string) => {
    const { format, summary } = await verifyDocument(Buffer.from(text))
    return [format, summary]
  }

  expect(await verified(read('matrix/good/full.json'))).toEqual(['matrix', 'Matrix manifest v1, 3 servers, 4 tools'])
  expect(await verified('{"name": "a", "tools": []}')).toEqual(['agent-format', 'Agent Format'])
  expect(await verified('{"id": "org:a/agent:b", "required_mcp_servers": []}')).toEqual([
    'gpars',
    'GPARS capability manifest',
  ])
  expect(await verified('{"mcpServers": {}}')).toEqual(['mcp-client', 'MCP client settings'])
})

test('secrets, pins and transports are checked in the files of other programs, at their places', async () => {
  const entry = (fields: object) => `{\n"mcpServers": {\n"a": ${JSON.stringify(fields)}\n}\n}`
  const found = async (text: string, fileName = '.mcp.json') =>
    (await verifyDocument(Buffer.from(text), { fileName })).findings.map(
      ({ rule, severity, line }) => `${line} ${rule} ${severity}`,
    )

  expect(await found(entry({ command: 'npx', args: ['-y', 'a@1.0.0'], env: { TOKEN: '${TOKEN}' } }))).toEqual([])
  expect(await found(entry({ command: 'npx', args: ['-y', 'a'] }))).toEqual(['3 MX007 warning'])
  expect(await found(entry({ command: 'npx', args: ['-y', 'a@1.0.0', '--token', 'hunter2value'] }))).toEqual([
    '3 MX008 error',
  ])
  expect(await found(entry({ url: 'https://a.example', headers: { Authorization: 'Bearer hunter2value' } }))).toEqual([
    '3 MX008 error',
  ])
  expect(await found(entry({ type: 'sse', url: 'https://a.example/sse' }))).toEqual(['3 MX017 error'])
  expect(
    await found('[mcp_servers.a]\ncommand = "npx"\nargs = ["a"]\nenv = { K_TOKEN = "hunter2value" }', 'x.toml'),
  ).toEqual(['3 MX007 warning', '4 MX008 error'])
  expect(
    await found('{"mcp": {"a": {"type": "local",\n"command": ["npx", "a"],\n"environment": {"A_KEY": "{env:A}"}}}}'),
  ).toEqual(['2 MX007 warning'])
  expect(await found('{\n"a": {"command": "bash", "args": ["-c", "A_TOKEN=hunter2value npx -y b"]}}')).toEqual([
    '2 MX007 warning',
    '2 MX008 error',
  ])
})

test('what is no document of Matrix is named as what it is', async () => {
  const says = async (text: string | Buffer, fileName?: string) => {
    const { findings } = await verifyDocument(Buffer.from(text), { fileName })
    expect(findings, fileName).toHaveLength(1)
    return findings[0]?.message.replace(/^This is |, (?:not a|but not) .*$/g, '')
  }

  expect(await says('# Notes\n\nSome words.\n', 'README.md')).toBe('Markdown')
  expect(await says('# Notes\n\nSome words.\n')).toBe('Markdown')
  expect(await says('[tool.poetry]\nname = "x"\n', 'pyproject.toml')).toBe('TOML')
  expect(await says('# a\n[tool.poetry]\nname = "x"\n')).toBe('TOML')
  expect(await says('a: &b\n  - 1\n  - *b\n', 'x.yaml')).toBe('YAML')
  expect(await says('version: 1\n')).toBe('YAML')
  expect(await says('#!/bin/sh\n')).toBe('a script')
  expect(await says(Buffer.from('504b03040a00', 'hex'), 'a.mcpb')).toBe('a zip archive')
  expect(await says('{"a": 1}', 'x.md')).toBe('JSON')
  expect(await says('A_KEY=x\n', '.env')).toBe('a list of environment variables')
})

test('an agent without a name is called as its file', async () => {
  const { value, findings } = await verifyDocument(
    Buffer.from('{"description": "Reviews.", "prompt": "You review.", "tools": ["fs_read"], "allowedTools": []}'),
    { fileName: 'reviewer.json' },
  )

  expect(value).toMatchObject({ name: 'reviewer' })
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
})

test('JSON of no known format, and what is not JSON, are findings', async () => {
  for (const text of ['{}', '[]', '42', '"x"', 'null', '{"a":', '']) {
    const { format, findings } = await verifyDocument(Buffer.from(text))
    expect({ format, rules: findings.map(({ rule }) => rule) }, text).toEqual({ format: undefined, rules: ['MX001'] })
  }
})

const token = madeUpToken
const kinds = {
  matrix: { schema_version: 1, agent: 'matrix://agent/a', allowed_side_effects: [], servers: [] },
  lock: { lock_version: 1 },
  'agent-format': { name: 'a', tools: [], allowedTools: [] },
  gpars: { id: 'org:a/agent:b', required_mcp_servers: [] },
}

test.each(Object.entries(kinds))(
  'in a document of the kind %s no credential is passed over or repeated',
  async (kind, document) => {
    const places = [
      { description: `Uses ${token} to log in` },
      { unknown: { deep: [token] } },
      { [token]: 'x' },
      { nested: { [token]: { x: '$env:' } } },
    ]
    for (const place of places) {
      const { format, findings } = await verifyDocument(Buffer.from(JSON.stringify({ ...document, ...place })))
      expect([format, findings.some(({ rule }) => rule === 'MX008')]).toEqual([kind, true])
      expect(JSON.stringify(findings)).not.toContain(token)
    }
  },
)

test('a credential that is twice the name of a field is not repeated', async () => {
  const { findings } = await verifyDocument(Buffer.from(`{"name": "a", "${token}": 1, "${token}": 2}`))

  expect(findings).toMatchObject([{ rule: 'MX022', pointer: '/…' }])
  expect(JSON.stringify(findings)).not.toContain(token)
})

test('variables that are not set are found in the spellings of the Agent Format', async () => {
  const server = {
    command: 'node',
    transport: 'stdio',
    args: ['server.js', '${env:FIRST}'],
    env: { A: '${SECOND}', B: '$env:THIRD', C: '${env:HERE}', D: '${OWN:-value}' },
  }
  const agent = { name: 'a', version: '1.0.0', tools: [], allowedTools: [], mcpServers: { notes: server } }
  const environment = (name: string) => name === 'HERE'
  const { findings } = await verifyDocument(Buffer.from(JSON.stringify(agent)), { environment })

  expect(findings.map(({ rule, message, pointer }) => [rule, message, pointer])).toEqual([
    ['MX009', 'The environment variable FIRST is not set.', '/mcpServers/notes/args/1'],
    ['MX009', 'The environment variable SECOND is not set.', '/mcpServers/notes/env/A'],
    ['MX009', 'The environment variable THIRD is not set.', '/mcpServers/notes/env/B'],
  ])
})

test('no mutation of any document makes anything but a report or a MatrixError', async () => {
  expect(files.length).toBeGreaterThan(20)
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...files),
      fc.infiniteStream(fc.nat()),
      fc.integer({ min: 1, max: 4 }),
      async (file, numbers, edits) => {
        let bytes: Uint8Array = readFileSync(file)
        for (let edit = 0; edit < edits; edit += 1) bytes = mutate(bytes, numbers)
        const report = await verifyDocument(bytes).catch((error: unknown) => error)

        expect(report instanceof MatrixError || Array.isArray((report as { findings?: unknown }).findings)).toBe(true)
      },
    ),
    { numRuns: 3000 },
  )
}, 120_000)

/** Cuts, doubles, swaps and replaces stretches of the text, often by something that is still JSON. */
function mutate(bytes: Uint8Array, numbers: Iterator<number>): Uint8Array {
  const next = (below: number) => (numbers.next().value as number) % Math.max(1, below)
  const text = Buffer.from(bytes).toString('latin1')
  const values = [...text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null/g)]
  const value = values[next(values.length)]
  const replacements = [
    'null',
    '[]',
    '{}',
    '""',
    '0',
    '-1',
    '1e400',
    '"\\u202e"',
    '"__proto__"',
    '{"__proto__":1}',
    '"$env:"',
    value?.[0] ?? '0',
    '"\xff"',
    `"${'a'.repeat(300)}"`,
  ]
  if (value && next(4) > 0)
    return Buffer.from(
      text.slice(0, value.index) + replacements[next(replacements.length)] + text.slice(value.index + value[0].length),
      'latin1',
    )
  const from = next(text.length)
  const to = from + next(40)
  return Buffer.from(
    [text.slice(0, from) + text.slice(to), text.slice(0, to) + text.slice(from), text.slice(0, to)][next(3)] ?? '',
    'latin1',
  )
}

function jsonFiles(folder: URL): URL[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .map((name) => new URL(name, folder))
}

function read(name: string): string {
  return readFileSync(new URL(name, fixtures), 'utf8')
}
