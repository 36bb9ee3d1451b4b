import { readdirSync, readFileSync } from 'node:fs'
import { MatrixError } from '@matrix/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDocument } from '../document/document.ts'
import { type Finding, placeProblems, severityIn } from '../document/finding.ts'
import { checkManifest } from '../manifest/manifest-check.ts'
import { isAlias } from '../manifest/tool-uri.ts'
import { importServers } from './import.ts'

const fixtures = new URL('../../fixtures/import/', import.meta.url)

test('each kind of file becomes the draft that a person wrote down for it, and nothing in it is wrong', () => {
  for (const name of readdirSync(new URL('good/', fixtures))) {
    const { manifest, environment, findings } = importFixture(`good/${name}`)

    expect({ environment, ...manifest }, name).toEqual(JSON.parse(read(`drafts/${name}`)))
    expect(
      findings.filter(({ severity }) => severity !== 'note'),
      name,
    ).toEqual([])
  }
})

test('no draft passes for a manifest while it has a server that nobody looked at', () => {
  for (const name of readdirSync(new URL('good/', fixtures))) {
    const { manifest } = importFixture(`good/${name}`)
    const errors = checkManifest(manifest).problems.filter((problem) => severityIn('bootstrap', problem) === 'error')

    for (const index of manifest.servers.keys())
      expect(
        errors.some(({ path }) => path[0] === 'servers' && path[1] === index),
        `${name} ${index}`,
      ).toBe(true)
    expect(manifest.allowed_side_effects).toEqual([])
  }
})

test('what is wrong with a file is found at its line', () => {
  expect(linesOf('bad/sse.json')).toEqual(['4 MX017 error', '8 MX017 warning', '11 MX003 error'])
  expect(linesOf('bad/registry-sse.json')).toEqual(['1 MX029 warning', '7 MX017 error'])
  expect(linesOf('bad/registry-unsupported.json')).toEqual(['1 MX029 warning', '7 MX003 error'])
  expect(linesOf('bad/vscode-input.json')).toEqual(['8 MX027 warning'])
  expect(linesOf('bad/mcpb-generated.json')).toEqual(['14 MX008 warning', '18 MX029 warning'])
  expect(linesOf('bad/malformed.json')).toEqual([
    '3 MX003 error',
    '4 MX001 error',
    '7 MX001 error',
    '11 MX001 error',
    '15 MX001 error',
    '19 MX003 error',
    '21 MX003 error',
  ])
  expect(linesOf('bad/duplicate-key.json')).toEqual(['4 MX022 error'])
})

test('every credential in a file is named with its line and its variable, and shown nowhere', () => {
  const { manifest, environment, findings } = importFixture('bad/credentials.json')

  expect(findings.filter(({ rule }) => rule === 'MX008').map(({ line }) => line)).toEqual([
    7, 17, 18, 20, 23, 28, 28, 30, 36,
  ])
  expect(environment).toEqual([
    'GITHUB_PERSONAL_ACCESS_TOKEN',
    'NOTION_KEY',
    'NOTION_DATABASE',
    'NOTION_CONFIG',
    'OPENAPI_MCP_HEADERS',
    'HOOKS_PATH',
    'HOOKS_ACCESS_TOKEN',
    'HOOKS_AUTHORIZATION',
    'BASIC_CREDENTIALS',
  ])
  expect(JSON.stringify({ manifest, findings })).not.toMatch(/fixture/i)
})

test('what the source has no place for or leaves open is said at its own line', () => {
  const notes = (name: string) => importFixture(name).findings.map(({ line, rule }) => `${line} ${rule}`)

  expect(notes('good/kiro.json')).toEqual([
    '1 MX029',
    '3 MX029',
    '8 MX029',
    '9 MX029',
    '11 MX029',
    '11 MX029',
    '11 MX029',
  ])
  expect(notes('good/mxd-config.json')).toEqual(['1 MX029', '5 MX029', '9 MX029'])
  expect(notes('good/claude-desktop.json')).toContain('13 MX029')
  expect(notes('good/agent-format.json')).toContain('9 MX029')
})

test('the agent of the draft is called as asked, or as the file calls it', () => {
  const file = { name: 'reviewer', tools: [], mcpServers: { git: { command: 'git-mcp' } } }

  expect(importServers(file).manifest.agent).toBe('matrix://agent/reviewer')
  expect(importServers(file, { agent: 'mine' }).manifest.agent).toBe('matrix://agent/mine')
  expect(importServers({ mcpServers: {} }, { agent: 'not a name' }).manifest.agent).toBe('matrix://agent/imported')
})

test('documents that are no files of servers are refused with what to do instead', () => {
  expect(() => importServers({ schema_version: 1 })).toThrow('is a Matrix manifest already')
  expect(() => importServers({ lock_version: 1 })).toThrow('is a Matrix lock already')
  expect(() => importServers({ id: 'x', required_mcp_servers: [] })).toThrow('not how a server is started')
  for (const value of [null, [], 'x', {}, { a: 1 }]) expect(() => importServers(value)).toThrow(MatrixError)
})

test('servers of single projects in one shared file are pointed out, not taken', () => {
  const { manifest, problems } = importServers({
    mcpServers: {},
    projects: { '/a': { mcpServers: { git: { command: 'git-mcp' } } }, '/b': { mcpServers: {} }, '/c': 1 },
  })

  expect(manifest.servers).toEqual([])
  expect(problems.map(({ path }) => path.join(' '))).toEqual(['projects /a mcpServers', ''])
})

test('of more problems than anyone reads, the worst are kept and the rest are counted', () => {
  const servers = Object.fromEntries(
    Array.from({ length: 2000 }, (_, index) => [`s${index}`, { command: 'x', cwd: '/' }]),
  )
  const { problems } = importServers({
    mcpServers: { ...servers, last: { type: 'sse', url: 'https://a.example.com' } },
  })

  expect(problems).toHaveLength(1001)
  expect(problems[0]?.rule).toBe('MX017')
  expect(problems.at(-1)?.message).toBe('There are 3002 more of these than are listed.')
})

test('any JSON is imported or refused with a MatrixError, the same way each time', () => {
  fc.assert(
    fc.property(anyFile, (value) => {
      const first = attempt(value)

      expect(attempt(structuredClone(value))).toEqual(first)
      if (first instanceof MatrixError) return
      const aliases = first.manifest.servers.map(({ alias }) => alias)
      expect(aliases.filter((alias) => !isAlias(alias))).toEqual([])
      expect(new Set(aliases).size).toBe(aliases.length)
      checkManifest(first.manifest)
    }),
    { numRuns: 500 },
  )
})

test('no secret is in the draft, the names or the problems, wherever in a client file it stood', () => {
  fc.assert(
    fc.property(secret, fc.shuffledSubarray(hidingPlaces, { minLength: 1 }), (value, places) => {
      const mcpServers = Object.fromEntries(places.map((place, index) => [`Server ${index}`, place(value)]))
      const { manifest, environment, problems } = importServers({ mcpServers })

      expect(JSON.stringify({ manifest, environment, problems })).not.toContain(value)
      expect(manifest.servers).toHaveLength(places.length)
      expect(checkManifest(manifest).problems.filter(({ rule }) => rule === 'MX008')).toEqual([])
    }),
  )
})

test('secrets under unusual names, in nested assignments and in placeholders become references', () => {
  const server = {
    command: 'docker',
    args: ['run', '--env=API_TOKEN=hunter2value', '-e', 'LEVEL=1', 'a/b:1.2.3'],
    env: { PGPASS: 'hunter2value', TOKEN1: '<x>hunter2value', PASSWORD: '{hunter2value}', HOOK: slackHook },
  }
  const { manifest } = importServers({ mcpServers: { a: server } })
  const draft = JSON.stringify(manifest)

  expect(draft).not.toContain('hunter2value')
  expect(draft).not.toContain('hooks.slack.com')
  expect(draft).toContain('--env=API_TOKEN=$env:API_TOKEN')
})

const slackHook = 'https://hooks.slack.com/services/T0A0A0A0A/B0A0A0A0A/a1a1a1a1a1a1'

function importFixture(name: string) {
  const { source, value } = parseDocument(Buffer.from(read(name)), { relaxed: true })
  const { problems, ...imported } = importServers(value)
  return { ...imported, findings: placeProblems(problems, source, 'default') }
}

function linesOf(name: string): string[] {
  const { source, value, findings } = parseDocument(Buffer.from(read(name)), { relaxed: true })
  const all: Finding[] =
    value === undefined ? findings : placeProblems(importServers(value).problems, source, 'default')
  return all
    .filter(({ severity }) => severity !== 'note')
    .map(({ line, rule, severity }) => `${line} ${rule} ${severity}`)
}

function read(name: string): string {
  return readFileSync(new URL(name, fixtures), 'utf8')
}

function attempt(value: unknown) {
  try {
    return importServers(value)
  } catch (error) {
    if (error instanceof MatrixError) return error
    throw error
  }
}

const scalar = fc.oneof(
  fc.constantFrom<unknown>('stdio', 'http', 'sse', 'npm', 'oci', 'mcpb', 'named', 'npx', 'https://a.example.com/b'),
  fc.constantFrom<unknown>(
    '${A}',
    '${A:-b}',
    '${input:a}',
    '${a}b',
    '{a}',
    '$env:',
    '${user_config.a}',
    '${',
    true,
    null,
  ),
  fc.jsonValue({ maxDepth: 2 }),
)
const files = readdirSync(new URL('good/', fixtures)).map(
  (name) => parseDocument(Buffer.from(read(`good/${name}`)), { relaxed: true }).value,
)
/** A real file in which a few places hold something else. */
const anyFile = fc
  .tuple(fc.constantFrom(...files), fc.array(fc.tuple(fc.nat(), scalar), { minLength: 1, maxLength: 4 }))
  .map(([file, changes]) => changes.reduce((value, [at, other]) => withChange(value, at, other), file))

function withChange(value: unknown, at: number, other: unknown): unknown {
  const text = JSON.stringify(value)
  const places = text.split(/(?<=[[{:,])(?=["[{\dtfn])/).length
  let place = at % Math.max(places, 1)
  return JSON.parse(text, (_key, part) => (place-- === 0 ? other : part))
}

const secret = fc
  .tuple(fc.stringMatching(/^[A-Za-z]{6,12}$/), fc.stringMatching(/^\d{4}$/), fc.stringMatching(/^[A-Za-z]{6,12}$/))
  .map((parts) => parts.join(''))

const http = { type: 'http', url: 'https://mcp.example.com/mcp' }
const npx = { command: 'npx', args: ['-y', 'pkg@1.0.0'] }
const hidingPlaces: ((value: string) => Record<string, unknown>)[] = [
  (value) => ({ ...npx, env: { API_TOKEN: value } }),
  (value) => ({ ...npx, env: { API_TOKEN: `\${API_TOKEN:-${value}}` } }),
  (value) => ({ ...npx, env: { API_TOKEN: `\${PREFIX}${value}` } }),
  (value) => ({ ...npx, env: { NOTE: `see \${A} and Bearer ${value}` } }),
  (value) => ({ ...npx, env: [`DATABASE=postgres://app:${value}@db.example.com/x`] }),
  (value) => ({ ...npx, env: { CONFIG: JSON.stringify({ apiKey: value }) } }),
  (value) => ({ command: 'npx', args: ['-y', 'pkg', '--token', value] }),
  (value) => ({ command: 'npx', args: ['-y', 'pkg', `--api-key=${value}`, '-H', `X-Api-Key: ${value}`] }),
  (value) => ({ command: 'npx', args: ['-y', `git+https://x:${value}@git.example.com/a/b`] }),
  (value) => ({ command: 'docker', args: ['run', '-e', `TOKEN=${value}`, 'example/image:1.0.0'] }),
  (value) => ({ command: `sk-${value}aaaaaaaaaaaaaaaa` }),
  (value) => ({ ...http, headers: { Authorization: `Bearer ${value}` } }),
  (value) => ({ ...http, headers: { Cookie: `session=${value}` } }),
  (value) => ({ ...http, url: `https://x:${value}@mcp.example.com/mcp` }),
  (value) => ({ ...http, url: `https://mcp.example.com/mcp?key=${value}&a=b#token=${value}` }),
  (value) => ({ ...http, url: `https://mcp.example.com/s/${value}a1a1a1a1/mcp` }),
  (value) => ({ ...http, url: `https://x:${value}/y@mcp.example.com` }),
  (value) => ({ ...http, url: `\${URL:-https://x:${value}@mcp.example.com}/mcp` }),
  (value) => ({ ...http, headersHelper: `echo ${value}`, oauth: { clientSecret: value }, note: value }),
]
