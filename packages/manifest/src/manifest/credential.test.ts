import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDocument } from '../document/document.ts'
import { placeProblems } from '../document/finding.ts'
import { findCredentialArguments, isLiteralCredential, isSecretName } from './credential.ts'
import { checkManifest } from './manifest-check.ts'

test('a name says that its value is a secret, however its words are joined', () => {
  for (const name of [
    'GITHUB_TOKEN',
    'apiKey',
    'X-Api-Key',
    'Authorization',
    'PGPASSWORD',
    'db.password',
    'clientSecret',
    'TOKEN1',
    'API_KEY2',
    'PGPASS',
    'OPENAIKEY',
    'PASSCODE',
  ])
    expect(isSecretName(name), name).toBe(true)
})

test('a name that is only about a secret does not make its value one', () => {
  for (const name of [
    'SSH_KEY_PATH',
    'TOKEN_URL',
    'AUTH_TYPE',
    'AWS_ACCESS_KEY_ID',
    'PUBLIC_KEY',
    'AUTHOR',
    'KEYBOARD',
    'MONKEY',
    'AUTH0_DOMAIN',
    'BYPASS',
    '',
  ])
    expect(isSecretName(name), name).toBe(false)
})

test('the tokens of well-known services are known by their shape, whatever they are called', () => {
  for (const value of [
    `ghp_${'a1'.repeat(12)}`,
    `github_pat_${'a1_'.repeat(8)}`,
    `sk-proj-${'a1'.repeat(12)}`,
    `xoxb-${'1'.repeat(12)}-abc`,
    `AKIA${'A1'.repeat(8)}`,
    `eyJ${'a'.repeat(12)}.eyJ${'b'.repeat(12)}.sig`,
    `gsk_${'a1'.repeat(12)}`,
    `xapp-1-${'A1'.repeat(8)}`,
    `lin_api_${'a1'.repeat(12)}`,
    `ntn_${'a1'.repeat(12)}`,
    `figd_${'a1'.repeat(12)}`,
    `dop_v1_${'a1'.repeat(32)}`,
    `SG.${'a1'.repeat(11)}.${'b2'.repeat(21)}`,
    `ya29.${'a1'.repeat(20)}`,
    `https://hooks.slack.com/services/T${'0A'.repeat(4)}/B${'0A'.repeat(4)}/${'a1'.repeat(12)}`,
    '-----BEGIN RSA PRIVATE KEY-----\nMII',
    'Bearer abcdefgh1',
    '{"Authorization": "Bearer abcdefgh"}',
    'Server=db;User=app;Password=correct-horse;',
  ])
    expect(isLiteralCredential('NOTE', value), value).toBe(true)
})

test('a URL holds a credential before its host, in its query or in its fragment', () => {
  for (const value of [
    'postgres://app:hunter2@db.example.com/prod',
    'https://a1b2c3d4e5f6a7b8c9d0@sentry.example.com/42',
    'https://mcp.example.com/mcp?team=a&api_key=hunter2&page=1',
    'https://mcp.example.com/cb#access_token=hunter2',
    'see https://example.com/ and redis://:hunter2@cache:6379',
  ])
    expect(isLiteralCredential('', value), value).toBe(true)
})

test('a secret inside JSON that is passed as text is found, escaped or not', () => {
  expect(isLiteralCredential('CONFIG', '{"notionApiKey": "hunter2", "team": "x"}')).toBe(true)
  expect(isLiteralCredential('CONFIG', '{\\"notionApiKey\\":\\"hunter2\\"}')).toBe(true)
  expect(isLiteralCredential('CONFIG', '{"notionApiKey": "$env:NOTION", "team": "x"}')).toBe(false)
})

test('references and gaps to fill in are no literal credentials', () => {
  for (const value of [
    '$env:TOKEN',
    'Bearer $env:TOKEN',
    'Bearer ${TOKEN}',
    '<your token>',
    '{token}',
    '${USER}:${PASS}',
    '',
  ])
    expect(isLiteralCredential('Authorization', value), value).toBe(false)
  expect(isLiteralCredential('', 'postgres://app:$env:PW@db.example.com/prod?token=$env:T')).toBe(false)
})

test('a reference does not excuse the literal that stands beside it', () => {
  expect(isLiteralCredential('TOKEN', 'hunter2hunter2$env:NOTHING')).toBe(true)
  expect(isLiteralCredential('AUTH', '{"user": "app", "password": "hunter2"}')).toBe(true)
  expect(isLiteralCredential('TOKEN', '<x>correcthorse')).toBe(true)
  expect(isLiteralCredential('TOKEN', 'correcthorse${X}')).toBe(true)
  expect(isLiteralCredential('PASSWORD', '{hunter}')).toBe(true)
})

test('switches, numbers and prose are no credentials', () => {
  expect(isLiteralCredential('MAX_TOKENS', '4096')).toBe(false)
  expect(isLiteralCredential('USE_AUTH', 'false')).toBe(false)
  expect(isLiteralCredential('NOTE', 'Basic authentication for the demo')).toBe(false)
  expect(isLiteralCredential('PATH', '/usr/local/bin:/usr/bin')).toBe(false)
  expect(isLiteralCredential('', 'https://mcp.example.com/mcp?team=a&auth=none')).toBe(false)
  expect(isLiteralCredential('', 'ssh://averylongusername@git.example.com/a')).toBe(false)
})

test('arguments hold credentials as flag and value, as assignment, or by shape', () => {
  const args = ['-y', 'pkg@1.0.0', '--token', 'hunter2', '--api-key=hunter2', '-e', 'DB_PASSWORD=hunter2', '--header']
  const more = ['X-Api-Key: hunter2', `sk-${'a1'.repeat(10)}`, '--token', '--verbose', '--token-file', 'token.txt']

  expect(findCredentialArguments([...args, ...more])).toEqual([3, 4, 6, 8, 9])
  expect(findCredentialArguments(['run', '--env=API_TOKEN=hunter2value', '--env=LEVEL=1'])).toEqual([1])
})

test('a megabyte of hostile text is judged without reading it again from every letter', () => {
  for (const piece of ['${', '${A:-', 'a-', 'eyJ-', '"a', 'Token ', '://', '<', '{', '\\"', 'sk-a '])
    expect(isLiteralCredential('NOTE', `${piece.repeat(1_000_000 / piece.length)} x://y "`), piece).toBe(false)
})

test('no finding of a manifest ever repeats a credential that stands in it', () => {
  fc.assert(
    fc.property(secret, fc.shuffledSubarray(hidingPlaces, { minLength: 1 }), (value, places) => {
      const servers = places.map((place, index) => ({ ...server(index), ...place(value) }))
      const text = JSON.stringify({ schema_version: 1, agent: 'matrix://agent/x', allowed_side_effects: [], servers })
      const { source, value: document } = parseDocument(Buffer.from(text))
      const findings = placeProblems(checkManifest(document, () => false).problems, source, 'default')

      expect(findings.filter(({ rule }) => rule === 'MX008' || rule === 'MX009').length).toBeGreaterThanOrEqual(
        places.length,
      )
      expect(JSON.stringify(findings)).not.toContain(value)
    }),
  )
})

const secret = fc
  .tuple(fc.stringMatching(/^[A-Za-z]{6,12}$/), fc.stringMatching(/^\d{4}$/), fc.stringMatching(/^[A-Za-z]{6,12}$/))
  .map((parts) => parts.join(''))

const hidingPlaces: ((value: string) => Record<string, unknown>)[] = [
  (value) => ({ env: { API_TOKEN: value } }),
  (value) => ({ env: [`API_TOKEN=${value}`] }),
  (value) => ({ env: [`ghp_${value}aaaaaaaaaaaaaaaa`, `ghp_${value}aaaaaaaaaaaaaaaa`] }),
  (value) => ({ env: [`API_TOKEN=\${API_TOKEN:-${value}}`] }),
  (value) => ({ env: { NOTE: `Bearer ${value}` } }),
  (value) => ({ args: ['--token', value, 'pkg@1.0.0'] }),
  (value) => ({ args: ['-y', `git+https://x:${value}@git.example.com/a/b`] }),
  (value) => ({ args: ['-y', `pkg@https://git.example.com/a.tgz?token=${value}`] }),
  (value) => ({ args: ['-y', `sk-${value}aaaaaaaaaaaaaaaa`] }),
  (value) => ({ command: 'uvx', args: [`name @ git+https://x:${value}@git.example.com/a/b`] }),
  (value) => ({ transport: 'http', endpoint: `https://x:${value}@mcp.example.com/mcp` }),
  (value) => ({ transport: 'http', endpoint: `https://mcp.example.com/mcp?key=${value}` }),
  (value) => ({
    transport: 'http',
    endpoint: 'https://mcp.example.com/',
    headers: { Authorization: `Bearer ${value}` },
  }),
]

function server(index: number) {
  return {
    alias: `server-${index}`,
    transport: 'stdio',
    command: 'npx',
    args: ['-y', 'pkg@1.0.0'],
    version: '1.0.0',
    package_digest: `sha256:${'0123456789abcdef'.repeat(4)}`,
    tools: [{ name: 'read', side_effect_class: 'read' }],
  }
}
