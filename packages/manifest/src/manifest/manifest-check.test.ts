import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDocument } from '../document/document.ts'
import { type Mode, placeProblems } from '../document/finding.ts'
import { madeUpToken } from './credential.testing.ts'
import type { Manifest } from './manifest.ts'
import { checkManifest } from './manifest-check.ts'

const fixtures = new URL('../../fixtures/matrix/', import.meta.url)

test('a manifest that uses every field as it is meant has no findings', () => {
  for (const name of readdirSync(new URL('good/', fixtures))) expect(findingsOf(`good/${name}`), name).toEqual([])
})

test('each rule is found at its line, several in one file, also behind a field that is malformed', () => {
  expect(findingsOf('bad/many.json').map(({ line, rule }) => `${line} ${rule}`)).toEqual([
    '5 MX023',
    '8 MX002',
    '11 MX008',
    '12 MX004',
    '13 MX001',
    '14 MX001',
    '18 MX017',
    '26 MX008',
    '27 MX008',
    '27 MX009',
    '29 MX013',
    '30 MX025',
    '31 MX012',
    '32 MX024',
    '36 MX002',
    '39 MX007',
    '40 MX008',
    '40 MX001',
    '40 MX009',
    '41 MX005',
    '43 MX011',
    '46 MX023',
  ])
})

test('the locked design rules are named in their findings', () => {
  const locked = Object.fromEntries(findingsOf('bad/many.json').map(({ rule, locked }) => [rule, locked]))

  expect(locked).toMatchObject({
    MX017: 'Q15',
    MX002: 'Q17',
    MX007: 'Q17',
    MX008: 'Q18',
    MX009: 'Q18',
    MX023: 'Q19',
    MX011: 'Q21',
    MX012: 'Q21',
    MX004: 'Q22',
    MX005: 'Q22',
  })
})

test('bootstrap lets an unpinned manifest pass with warnings, and strict lets no warning pass', () => {
  const severities = (name: string, mode: Mode) => new Set(findingsOf(name, mode).map(({ severity }) => severity))

  expect(severities('bad/two-tool-example.json', 'default')).toEqual(new Set(['error']))
  expect(severities('bad/two-tool-example.json', 'bootstrap')).toEqual(new Set(['warning']))
  expect(severities('bad/many.json', 'strict')).toEqual(new Set(['error', 'note']))
})

test('a literal credential is reported without its value', () => {
  const said = JSON.stringify(findingsOf('bad/many.json'))

  for (const secret of ['abcdefgh', 'hunter2', '12345678']) expect(said).not.toContain(secret)
})

test('allowed_side_effects must be stated: absent is an error, empty allows nothing', () => {
  const { allowed_side_effects: _, ...rest } = manifest()

  expect(rulesIn(rest)).toEqual(['MX001'])
  expect(rulesIn(manifest({ allowed_side_effects: [] }))).toEqual(['MX013'])
})

test('an unset environment variable is found where the environment is known', () => {
  const value = manifest({}, { env: ['A=$env:SET', 'B=$env:UNSET'] })
  const { problems } = checkManifest(value, (name) => name === 'SET')

  expect(problems).toMatchObject([
    { rule: 'MX009', path: ['servers', 0, 'env', 1], message: 'The environment variable UNSET is not set.' },
  ])
  expect(rulesIn(value)).toEqual([])
})

test('env may be a list or an object, and says the same', () => {
  expect(rulesIn(manifest({}, { env: ['API_TOKEN=abcdefghijkl'] }))).toEqual(['MX008'])
  expect(rulesIn(manifest({}, { env: { API_TOKEN: 'abcdefghijkl' } }))).toEqual(['MX008'])
  expect(rulesIn(manifest({}, { env: { API_TOKEN: '$env:API_TOKEN' } }))).toEqual([])
})

test('an endpoint in the open is warned about unless it is this machine', () => {
  const endpoint = (url: string) =>
    rulesIn(manifest({}, undefined, { alias: 'x', transport: 'http', endpoint: url, version: '1.0.0', tools }))

  expect(endpoint('http://example.org/mcp')).toEqual(['MX003'])
  expect(endpoint('http://127.0.0.1:3000/mcp')).toEqual([])
  expect(endpoint('http://127.example.org/mcp')).toEqual(['MX003'])
  expect(endpoint('https://example.org/mcp')).toEqual([])
  expect(endpoint('ftp://example.org/mcp')).toEqual(['MX003'])
})

test('a launcher that nobody can see through is a warning, and everything it fetches must be pinned', () => {
  const launch = (command: string, ...args: string[]) =>
    checkManifest(manifest({}, { command, args })).problems.map(({ rule, severity, path }) =>
      [rule, severity, ...path.slice(2)].join(' ').replace('  ', ' '),
    )

  expect(launch('sh', '-c', 'npx -y a@1.0.0 && true')).toEqual(['MX007 warning command', 'MX031 error args 1'])
  expect(launch('npx', '-p', 'a@1.0.0', '-p', 'b', 'a')).toEqual(['MX007 args 3'])
  expect(launch('uvx', '--with', 'b', 'a@1.0.0')).toEqual(['MX007 args 1'])
  expect(launch('sh', '-c', 'npx -y a@1.0.0')).toEqual([])
  expect(launch('./server', '--stdio')).toEqual([])
})

test('an image is pinned by a digest only when it is the digest of the package', () => {
  const image = (reference: string) => rulesIn(manifest({}, { command: 'docker', args: ['run', reference] }))

  expect(image('a/b@sha256:a239da270c403c42eb03e1ca7cca07c858085819797b74856ddbb91b50491b1a')).toEqual([])
  expect(image(`a/b@sha256:${'a1'.repeat(32)}`)).toEqual(['MX006'])
  expect(image('a/b@sha256:zzz')).toEqual(['MX007'])
  expect(image('a/b:1.0.0')).toEqual([])
})

test('one element that is no text does not hide the credential beside it', () => {
  const token = madeUpToken
  const places = (server: object) =>
    checkManifest(manifest({}, server)).problems.flatMap(({ rule, path }) =>
      rule === 'MX008' ? [path.slice(2).join('.')] : [],
    )

  expect(places({ args: [`--token=${token}`, 5] })).toEqual(['args.0'])
  expect(places({ env: { A: 5, GITHUB_TOKEN: token } })).toEqual(['env.GITHUB_TOKEN'])
  expect(places({ env: [5, `GITHUB_TOKEN=${token}`, null] })).toEqual(['env.1'])
  expect(places({ args: `--token=${token}` })).toEqual(['args'])
  expect(rulesIn(manifest({}, { args: ['-y', 5] }))).toEqual(['MX001'])
})

test('a credential is found in any text of the document, once, and is never repeated', () => {
  const token = madeUpToken
  const places = (value: unknown) => checkManifest(value, () => false).problems.filter(({ rule }) => rule === 'MX008')

  for (const value of [
    manifest({ description: `Uses ${token}` }),
    manifest({ notes: { deep: [token] } }),
    manifest({}, { command: token }),
    manifest({}, { transport: token }),
    manifest({}, { alias: token }),
    manifest({}, { version: token }),
    manifest({}, { note: 1, apiToken: 'correct-horse' }),
    manifest({}, { tools: [{ name: 'a', description: token, side_effect_class: 'read' }] }),
    manifest(
      {},
      {
        tools: [
          { name: token, side_effect_class: 'write' },
          { name: token, side_effect_class: 'write' },
        ],
      },
    ),
    manifest({}, { env: [`A=$env:${token}`] }),
  ])
    expect(places(value).length, JSON.stringify(value)).toBeGreaterThan(0)
  expect(places(manifest({}, { env: { API_TOKEN: token } }))).toHaveLength(1)
  for (const server of [
    { transport: token },
    { alias: token },
    { version: token },
    { [token]: 1 },
    { env: [`${token}=1`, `${token}=2`] },
  ])
    expect(
      JSON.stringify(checkManifest(manifest({}, server)).problems.map(({ message, fix }) => [message, fix])),
    ).not.toContain(token)
})

test('references are checked in arguments and endpoints as well', () => {
  const http = (endpoint: string) =>
    manifest({}, undefined, { alias: 'x', transport: 'http', endpoint, version: '1.0.0', tools })
  const args = (...more: string[]) => manifest({}, { args: ['-y', 'a@1.0.0', ...more] })

  expect(rulesIn(args('--region=${REGION}'))).toEqual(['MX009'])
  expect(rulesIn(args('$env:'))).toEqual(['MX009'])
  expect(rulesIn(http('https://example.org/$env:/mcp'))).toEqual(['MX009'])
  for (const value of [args('$env:UNSET'), http('https://example.org/$env:UNSET')]) {
    expect(checkManifest(value, () => false).problems).toMatchObject([
      { rule: 'MX009', message: 'The environment variable UNSET is not set.' },
    ])
    expect(rulesIn(value)).toEqual([])
  }
  expect(rulesIn(manifest({}, { command: 'sh', args: ['-c', 'exec ${HOME}/server'] }))).toEqual(['MX007', 'MX031'])
})

test('control and hidden characters are found in values and in the command, and line ends in texts are not', () => {
  const remote = (headers: unknown) =>
    rulesIn(
      manifest({}, undefined, {
        alias: 'x',
        transport: 'http',
        endpoint: 'https://example.org/',
        headers,
        version: '1.0.0',
        tools,
      }),
    )

  expect(remote({ 'X-A': 'a\r\nEvil: 1' })).toEqual(['MX024', 'MX001'])
  expect(remote({ 'X-A': 'a\nEvil: 1' })).toEqual(['MX001'])
  expect(remote({ 'X-A': 'a', 'x-a': 'b' })).toEqual(['MX001'])
  expect(rulesIn(manifest({}, { env: { A: 'a\r\nb' } }))).toEqual(['MX024'])
  expect(rulesIn(manifest({}, { env: { A: 'a\nb', a: 'c' } }))).toEqual([])
  expect(rulesIn(manifest({}, { command: './serv\u200ber', args: [] }))).toEqual(['MX024'])
  expect(rulesIn(manifest({ description: 'One line\r\nand another' }))).toEqual([])
})

test('servers may not take the names of Matrix’s own tools', () => {
  for (const alias of ['builtin', 'native', 'mxd']) expect(rulesIn(manifest({}, { alias }))).toEqual(['MX002'])
})

test('any value in any field is a finding or accepted, and never an exception', () => {
  const anything = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(null, '', 0, -1, 1e21, [], {}, [[]], [null], { a: 1 }, 'sse', '$env:', '\u202E'),
  )
  const paths = pathsOf(
    manifest(
      { native_tools: [{ namespace: 'chain', name: 'a', version: '1', digest: `sha256:${'0f'.repeat(32)}` }] },
      { env: ['A=$env:A'] },
    ),
  )
  fc.assert(
    fc.property(fc.constantFrom(...paths), anything, (path, wrong) => {
      const value = JSON.parse(JSON.stringify(manifest({}, { env: ['A=$env:A'] })))
      setAt(value, path, JSON.parse(JSON.stringify(wrong)))
      const text = JSON.stringify(value, null, 2)
      const document = parseDocument(Buffer.from(text))
      if (document.value !== undefined)
        placeProblems(checkManifest(document.value).problems, document.source, 'default')
    }),
    { numRuns: 2000 },
  )
})

test('a wrong type is found at every field', () => {
  const good = manifest({}, { env: ['A=$env:A'] })
  for (const path of pathsOf(good)) {
    const value = JSON.parse(JSON.stringify(good))
    setAt(value, path, { unexpected: true })

    expect(rulesIn(value).length, path.join('.')).toBeGreaterThan(0)
  }
})

const tools: Manifest['servers'][0]['tools'] = [
  { name: 'a', description: 'Reads', side_effect_class: 'read', timeout_ms: 1000 },
]

function manifest(top: object = {}, server: object = {}, only?: object): Record<string, unknown> {
  const first = {
    alias: 'fs',
    transport: 'stdio',
    command: 'npx',
    args: ['-y', 'a@1.0.0'],
    package_digest: 'sha256:a239da270c403c42eb03e1ca7cca07c858085819797b74856ddbb91b50491b1a',
    version: '1.0.0',
    tools,
    ...server,
  }
  return {
    schema_version: 1,
    agent: 'matrix://agent/a',
    description: 'An agent',
    allowed_side_effects: ['read'],
    servers: [only ?? first],
    ...top,
  }
}

function rulesIn(value: unknown): string[] {
  return checkManifest(value).problems.map(({ rule }) => rule)
}

function findingsOf(name: string, mode: Mode = 'default') {
  const { source, value, findings } = parseDocument(readFileSync(new URL(name, fixtures)))
  return [...findings, ...placeProblems(checkManifest(value).problems, source, mode)]
}

function pathsOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path]
  const below = Object.entries(value).flatMap(([key, part]) =>
    pathsOf(part, [...path, Array.isArray(value) ? Number(key) : key]),
  )
  return path.length === 0 ? below : [path, ...below]
}

function setAt(
  value: Record<string | number, unknown>,
  [step = '', ...rest]: (string | number)[],
  wrong: unknown,
): void {
  if (rest.length === 0) value[step] = wrong
  else if (value[step] !== undefined) setAt(value[step] as Record<string, unknown>, rest, wrong)
}

test("the alias mxd is Matrix's own server and nothing else: another program, argument, variable or tool is refused", () => {
  const own = {
    alias: 'mxd',
    transport: 'stdio',
    command: 'mxd',
    env: [],
    args: ['serve-tools', '--stdio'],
    tools: [{ name: 'bash', side_effect_class: 'shell' }],
  }
  const declared = (server: object) => rulesIn(manifest({}, server)).filter((rule) => rule === 'MX002')

  expect(declared(own)).toEqual([])
  const others = [
    { command: 'npx' },
    { command: './mxd' },
    { args: ['serve-tools'] },
    { args: ['serve-tools', '--stdio', '--root', '/'] },
    { env: ['NODE_OPTIONS=--require ./x.cjs'] },
    { tools: [{ name: 'commit', side_effect_class: 'read' }] },
    {
      tools: [
        { name: 'bash', side_effect_class: 'shell' },
        { name: 'done', side_effect_class: 'read' },
      ],
    },
  ]
  for (const other of others) expect(declared({ ...own, ...other }), JSON.stringify(other)).toEqual(['MX002'])
})
