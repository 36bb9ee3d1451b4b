import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDocument } from '../document/document.ts'
import { placeProblems } from '../document/finding.ts'
import { checkGpars } from './gpars-check.ts'

test.each(['minimal', 'coding', 'capabilities'])('good/%s.json is accepted without a word', (file) => {
  const { gpars, findings } = check(`good/${file}.json`)

  expect(findings).toEqual([])
  expect(gpars).toBeDefined()
})

test('optional servers may leave out version and scopes, with a warning for each', () => {
  const { gpars, findings, messages } = check('good/research.json')

  expect(findings).toEqual(['12 MX001 warning', '13 MX001 warning', '17 MX001 note'])
  expect(messages[0]).toContain('does not say its version and permission_scopes')
  expect(messages[1]).toContain('does not say its permission_scopes')
  expect(gpars).toMatchObject({ id: 'org:example/agent:literature-v1' })
})

test('both shapes come back as they were written, neither turned into the other', () => {
  expect(check('good/coding.json').gpars).not.toHaveProperty('capabilities')
  expect(check('good/capabilities.json').gpars).not.toHaveProperty('required_mcp_servers')
})

test.each([
  [
    'servers',
    [
      ...['3 MX001 error', '5 MX001 error', '6 MX001 error', '7 MX001 error', '7 MX001 error'],
      ...['12 MX025 error', '15 MX001 error'],
    ],
  ],
  ['mixed', ['4 MX001 error', '6 MX001 error']],
  ['twice', ['2 MX025 warning', '8 MX001 warning', '10 MX025 error', '12 MX008 error']],
  ['capabilities', ['1 MX026 error', '5 MX001 error', '7 MX025 error']],
  ['capability-ids', ['5 MX001 error', '5 MX024 error']],
  ['nothing', ['1 MX001 error', '1 MX026 error', '1 MX025 error']],
])('every flaw of bad/%s.json is found on its line', (file, expected) => {
  const { findings, messages } = check(`bad/${file}.json`)

  expect(findings).toEqual(expected)
  expect(messages.join()).not.toContain('hunter2')
})

test('scopes are nobody’s grant: whatever they say, they are only passed on', () => {
  const scopes = ['*', 'admin', '@builtin', 'matrix://tool/mcp/mxd/bash@1.0.0']
  const value = {
    id: 'a',
    required_mcp_servers: [{ server_id: 's', version: '1.0.0', permission_scopes: scopes }],
  }

  expect(checkGpars(value)).toEqual({ gpars: value, problems: [] })
})

test('no value makes it throw', () => {
  const part = fc.oneof(
    fc.anything(),
    fc.array(fc.record({ server_id: fc.string(), version: fc.string(), id: fc.anything() })),
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.anything(),
        fc.record(
          {
            id: part,
            version: part,
            required_mcp_servers: part,
            optional_mcp_servers: part,
            capabilities: part,
            extensions: part,
          },
          { requiredKeys: [] },
        ),
      ),
      (value) => void checkGpars(value),
    ),
  )
})

test("a registry's server cannot take an alias of Matrix itself, and mxd alone asks for Matrix's own tools", () => {
  const rulesOf = (server_id: string) => {
    const server = { server_id, version: '1.0.0', permission_scopes: [] }
    return checkGpars({ id: 'a', required_mcp_servers: [server] }).problems.map(({ rule }) => rule)
  }

  for (const id of ['io.example/mxd', 'io.example/MXD', 'builtin', 'x/y/native', 'MXD', 'io.example\n/mxd'])
    expect(rulesOf(id), id).toContain('MX002')
  for (const id of ['mxd', 'io.example/mxd-tools']) expect(rulesOf(id), id).toEqual([])
})

test('no advice is given about the schema of another format', () => {
  for (const problem of checkGpars({ id: 5, capabilities: 'x' }).problems)
    expect(problem.fix ?? '').not.toContain('matrix')
  expect(checkGpars({ id: 'a', capabilities: 5 }).problems[0]?.fix).toBeDefined()
})

function check(file: string) {
  const bytes = readFileSync(new URL(`../../fixtures/gpars/${file}`, import.meta.url))
  const { source, value } = parseDocument(bytes)
  const { gpars, problems } = checkGpars(value)
  const placed = placeProblems(problems, source, 'default')
  return {
    gpars,
    findings: placed.map(({ line, rule, severity }) => `${line} ${rule} ${severity}`),
    messages: placed.map(({ message, fix }) => `${message} ${fix}`),
  }
}
