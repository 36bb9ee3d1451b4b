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

test('a file that can only be imported is refused with the way to do that', async () => {
  const { findings } = await verifyDocument(Buffer.from('{"mcpServers": {}}'))

  expect(findings).toMatchObject([
    { rule: 'MX001', severity: 'error', fix: 'Turn it into one with `matrix import`, then verify that.' },
  ])
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
    args: ['server.js', '${env:FIRST}'],
    env: { A: '${SECOND}', B: '$env:THIRD', C: '${env:HERE}', D: '${OWN:-value}' },
  }
  const agent = { name: 'a', tools: [], allowedTools: [], mcpServers: { notes: server } }
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
