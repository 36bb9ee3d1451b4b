import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findTransport, readClientConfig } from './client-config.ts'
import { importServers } from './import.ts'

test('the two transports are known in every spelling, and the deprecated one too', () => {
  for (const type of ['http', 'streamable-http', 'streamableHttp', 'streamable_http', 'HTTP', 'streamable'])
    expect(findTransport(type), type).toBe('http')
  expect(findTransport('stdio')).toBe('stdio')
  for (const type of ['sse', 'http+sse', 'SSE']) expect(findTransport(type), type).toBe('sse')
  for (const type of ['ws', '', 'constructor', 1, null]) expect(findTransport(type)).toBeUndefined()
})

test('without a type, a command means stdio and an address means http, under any of its keys', () => {
  const { servers } = readClientConfig(
    {
      a: { command: 'x', url: 'https://a.example.com' },
      b: { serverUrl: 'https://a.example.com' },
      c: { httpUrl: 'https://a.example.com' },
    },
    ['mcpServers'],
  )

  expect(servers.map(({ launch }) => launch.transport)).toEqual(['stdio', 'http', 'http'])
})

test('a server that is switched off is left out and said so', () => {
  const { servers, problems } = readClientConfig(
    { a: { command: 'x', disabled: true }, b: { command: 'x', enabled: false } },
    [],
  )

  expect(servers).toEqual([])
  expect(problems.map(({ rule, message }) => [rule, message])).toEqual([
    ['MX029', '"a" is disabled here and was left out.'],
    ['MX029', '"b" is disabled here and was left out.'],
  ])
})

test('numbers and switches in args and env are texts, and null takes a variable away', () => {
  expect(draftOf({ command: 'x', args: [1, true], env: { A: 2, B: false, C: null } })).toMatchObject({
    args: ['1', 'true'],
    env: ['A=2', 'B=false'],
  })
  expect(draftOf({ command: 'x', env: ['A=b=c', '$env:D'] })).toMatchObject({ env: ['A=b=c', 'D=$env:D'] })
})

test('equal secrets of one name share a variable; different ones, and gaps of different servers, do not', () => {
  const env = (value: string) => ({ command: 'x', env: { API_KEY: value } })
  const servers = { a: env('fixture-one'), b: env('fixture-one'), c: env('fixture-two'), d: env(''), e: env('<key>') }
  const { environment, manifest } = importServers({ mcpServers: servers })

  expect(manifest.servers.map((server) => ('env' in server ? server.env[0] : ''))).toEqual([
    'API_KEY=$env:API_KEY',
    'API_KEY=$env:API_KEY',
    'API_KEY=$env:C_API_KEY',
    'API_KEY=$env:D_API_KEY',
    'API_KEY=$env:E_API_KEY',
  ])
  expect(environment).toHaveLength(4)
})

test('a literal never takes the name that another server refers to', () => {
  const { environment } = importServers({
    mcpServers: { a: { command: 'x', env: { TOKEN: 'fixture-one' } }, b: { command: 'x', args: ['${TOKEN}'] } },
  })

  expect(environment).toEqual(['A_TOKEN', 'TOKEN'])
})

test('a server is read in the words of each program', () => {
  expect(draftOf({ type: 'local', command: ['npx', '-y', 'a'], environment: { A_KEY: '{env:A_KEY}' } })).toMatchObject({
    command: 'npx',
    args: ['-y', 'a'],
    env: ['A_KEY=$env:A_KEY'],
  })
  expect(draftOf({ command: { path: 'uvx', args: ['a'], env: { B: '1' } }, settings: {} })).toMatchObject({
    command: 'uvx',
    args: ['a'],
    env: ['B=1'],
  })
  expect(
    draftOf({
      url: 'https://a.example',
      bearer_token_env_var: 'A_TOKEN',
      http_headers: { 'X-Region': 'eu' },
      env_http_headers: { 'X-Key': 'A_KEY' },
    }),
  ).toMatchObject({
    headers: { Authorization: 'Bearer $env:A_TOKEN', 'X-Region': 'eu', 'X-Key': '$env:A_KEY' },
  })
  expect(draftOf({ command: 'x', env_vars: ['A_KEY', { name: 'B_KEY', source: 'local' }] })).toMatchObject({
    env: ['A_KEY=$env:A_KEY', 'B_KEY=$env:B_KEY'],
  })
  expect(draftOf({ command: 'node', args: ['${extensionPath}/server.js'] })).toMatchObject({
    args: ['$env:EXTENSION_FOLDER/server.js'],
  })
  expect(draftOf({ source: 'extension', settings: { key: 1 } })).toBeUndefined()
})

test('no word of a command is lost but its secrets', () => {
  const shell = (...args: string[]) => draftOf({ command: 'bash', args })

  expect(shell('-c', 'API_TOKEN=hunter2value npx -y foo-mcp')).toMatchObject({
    command: 'npx',
    args: ['-y', 'foo-mcp'],
    env: ['API_TOKEN=$env:API_TOKEN'],
  })
  expect(shell('-lc', `exec A="x y" npx -y foo-mcp --root "$HOME/a b" '$raw'`)).toMatchObject({
    command: 'npx',
    args: ['-y', 'foo-mcp', '--root', '$env:HOME/a b', '$raw'],
    env: ['A=x y'],
  })
  expect(shell('-c', 'cd /srv && API_TOKEN=hunter2value npx -y foo-mcp | tee log')).toMatchObject({
    command: 'bash',
    args: ['-c', 'cd /srv && API_TOKEN=$env:API_TOKEN npx -y foo-mcp | tee log'],
  })
  expect(shell('-c', 'npx -y foo-mcp --token hunter2value; echo done')).toMatchObject({
    args: ['-c', 'npx -y foo-mcp --token $env:SERVER_TOKEN; echo done'],
  })
  expect(draftOf({ command: 'npx -y foo-mcp@1.0.0 --root .' })).toMatchObject({
    command: 'npx',
    args: ['-y', 'foo-mcp@1.0.0', '--root', '.'],
  })
  expect(draftOf({ command: '/opt/My Tools/server' })).toMatchObject({ command: '/opt/My Tools/server', args: [] })
})

test('every plain word of a shell text is in the draft', () => {
  const plain = fc.stringMatching(/^[a-z][a-z./-]{0,8}$/).filter((text) => !['env', 'exec'].includes(text))
  const parts = fc.array(fc.tuple(plain, fc.constantFrom(' ', ' && ', ' | ', '; ')), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(fc.boolean(), parts, (isSecret, words) => {
      const text = words.map(([each, between]) => each + between).join('')
      const draft = draftOf({ command: 'sh', args: ['-c', `${isSecret ? 'A_TOKEN=hunter2value ' : ''}${text}`] })
      const written = JSON.stringify(draft)
      for (const [each] of words) expect(written).toContain(each)
      expect(written).not.toContain('hunter2value')
    }),
  )
})

test('gaps for people are gaps in arguments as well', () => {
  expect(draftOf({ command: 'x', args: ['<path to files>', '--token', '<token>', '--api-key', ''] })).toMatchObject({
    args: ['$env:SERVER_PATH_TO_FILES', '--token', '$env:SERVER_TOKEN', '--api-key', '$env:SERVER_API_KEY'],
  })
})

test('the parts of an address that are secret become references, and the rest stays readable', () => {
  const endpointOf = (url: string) => draftOf({ type: 'http', url })

  expect(endpointOf('https://a.example.com:8443/mcp?key=fixture-key&team=x#top')).toMatchObject({
    endpoint: 'https://a.example.com:8443/mcp?key=$env:SERVER_KEY&team=x',
  })
  expect(endpointOf('https://${HOST:-a.example.com}/${VERSION}/mcp')).toMatchObject({
    endpoint: 'https://a.example.com/$env:VERSION/mcp',
  })
  expect(endpointOf('${BASE:-https://fixture:password@a.example.com}/mcp')).toMatchObject({ endpoint: '$env:BASE/mcp' })
  expect(endpointOf('https://ada:fixture-password@a.example.com/mcp')).toMatchObject({
    endpoint: 'https://a.example.com/mcp',
    headers: { Authorization: 'Basic $env:SERVER_BASIC_CREDENTIALS' },
  })
})

test('a long run of letters and digits is hidden under any name; words, numbers and short ids are not', () => {
  const env = {
    A: 'a1b2c3d4e5f6a7b8c9d0',
    B: 'a-long-name-made-of-2-or-3-words',
    C: '20260831202608312026',
    D: 'abc123',
  }

  expect(draftOf({ command: 'x', env })).toMatchObject({
    env: ['A=$env:A', 'B=a-long-name-made-of-2-or-3-words', 'C=20260831202608312026', 'D=abc123'],
  })
})

test('one unusable name among good ones keeps the server out', () => {
  expect(draftOf({ command: 'x', env: { GOOD: '1', 'NOT A NAME': '2' } })).toBeUndefined()
})

test('an image pinned by digest brings its digest along', () => {
  const digest = `sha256:${'a1'.repeat(32)}`

  expect(draftOf({ command: 'docker', args: ['run', '-i', `example/image@${digest}`] })).toMatchObject({
    package_digest: digest,
    version: 'unpinned',
  })
})

function draftOf(server: unknown) {
  return importServers({ mcpServers: { server } }).manifest.servers[0]
}
