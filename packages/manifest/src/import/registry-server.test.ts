import { expect, test } from 'vitest'
import { importServers } from './import.ts'

test('each kind of package is started by its own launcher, pinned to its version', () => {
  const lineOf = (entry: Record<string, unknown>) => {
    const draft = draftOf({ packages: [{ identifier: 'example', version: '1.2.3', ...entry }] })
    return draft?.transport === 'stdio' ? [draft.command, ...draft.args].join(' ') : undefined
  }

  expect(lineOf({ registryType: 'npm' })).toBe('npx -y example@1.2.3')
  expect(lineOf({ registryType: 'npm', runtimeHint: 'bunx' })).toBe('bunx example@1.2.3')
  expect(lineOf({ registryType: 'pypi' })).toBe('uvx example@1.2.3')
  expect(lineOf({ registryType: 'pypi', runtimeHint: 'pipx', registryBaseUrl: 'https://py.example.com' })).toBe(
    'pipx run --index-url https://py.example.com example@1.2.3',
  )
  expect(lineOf({ registryType: 'nuget' })).toBe('dnx example@1.2.3 --yes --')
  expect(lineOf({ registryType: 'oci', registryBaseUrl: 'https://ghcr.io', identifier: 'a/b' })).toBe(
    'docker run -i --rm ghcr.io/a/b:1.2.3',
  )
  expect(lineOf({ registryType: 'oci', identifier: 'ghcr.io/a/b:2.0.0', version: undefined })).toBe(
    'docker run -i --rm ghcr.io/a/b:2.0.0',
  )
  expect(lineOf({ registryType: 'oci', version: `sha256:${'a1'.repeat(32)}` })).toBe(
    `docker run -i --rm example@sha256:${'a1'.repeat(32)}`,
  )
  expect(lineOf({ registry_name: 'docker', name: 'a/b', identifier: undefined })).toBe('docker run -i --rm a/b:1.2.3')
  expect(lineOf({ registryType: 'cargo' })).toBeUndefined()
})

test('what the entry repeats of the launcher stands there once', () => {
  const runtimeArguments = ['run', '-i', '--rm'].map((value) => ({ type: 'positional', value }))

  expect(draftOf({ packages: [{ registryType: 'oci', identifier: 'a/b:1.0.0', runtimeArguments }] })).toMatchObject({
    args: ['run', '-i', '--rm', 'a/b:1.0.0'],
  })
})

test('an entry that spells out the whole command of a container is started by that command', () => {
  const positional = (value: string) => ({ type: 'positional', value, is_required: true })
  const named = (value: string) => ({ type: 'named', value, is_required: true })
  const entry = {
    registry_name: 'docker',
    name: 'ghcr.io/a/b',
    version: '1.2.3',
    runtime_arguments: [
      ...[positional('run'), named('-i'), named('--rm')],
      ...[named('-e'), positional('A_TOKEN'), positional('ghcr.io/a/b')],
    ],
    environment_variables: [
      { name: 'A_TOKEN', is_required: true, is_secret: true },
      { name: 'A_LEVEL', default: 'info' },
    ],
  }

  expect(draftOf({ packages: [entry] })).toMatchObject({
    command: 'docker',
    args: ['run', '-i', '--rm', '-e', 'A_LEVEL', '-e', 'A_TOKEN', 'ghcr.io/a/b:1.2.3'],
    env: ['A_TOKEN=$env:A_TOKEN', 'A_LEVEL=info'],
  })
  const mounted = [
    { type: 'named', name: '--mount', value: 'type=bind,src={source},dst=/data', variables: { source: {} } },
    { type: 'named', name: '-e', value: 'A_TOKEN={token}', variables: { token: { isSecret: true } } },
  ]
  expect(
    draftOf({ packages: [{ registryType: 'oci', identifier: 'a/b:1.0.0', runtimeArguments: mounted }] }),
  ).toMatchObject({
    args: [
      'run',
      '-i',
      '--rm',
      '--mount',
      'type=bind,src=$env:SERVER_SOURCE,dst=/data',
      '-e',
      'A_TOKEN=$env:SERVER_TOKEN',
      'a/b:1.0.0',
    ],
  })
})

test('an optional secret stays optional, and the note says how to give it', () => {
  const environmentVariables = [
    { name: 'A_TOKEN', isSecret: true },
    { name: 'B_TOKEN', isSecret: true, isRequired: true },
  ]
  const packages = [{ registryType: 'npm', identifier: 'a', version: '1.0.0', environmentVariables }]
  const { manifest, problems } = importServers({ name: 'x/server', packages })

  expect(manifest.servers[0]).toMatchObject({ env: ['B_TOKEN=$env:B_TOKEN'] })
  expect(problems.map(({ fix }) => fix)).toContain('Add "A_TOKEN=$env:A_TOKEN" to the draft if you want it.')
})

test('a secret input is a reference, whatever value or default the entry publishes for it', () => {
  const environmentVariables = [
    { name: 'TOKEN', default: 'fixture-no-token' },
    { name: 'PLAIN', isSecret: true, value: 'fixture-no-token' },
    {
      name: 'URL',
      value: 'https://{user}:{pass}@a.example.com',
      variables: { user: { default: 'ada' }, pass: { isSecret: true, default: 'fixture-pass' } },
    },
  ]
  const packages = [{ registryType: 'npm', identifier: 'a', version: '1.0.0', environmentVariables }]
  const imported = importServers({ name: 'x/server', packages })

  expect(imported.manifest.servers[0]).toMatchObject({
    env: ['TOKEN=$env:TOKEN', 'PLAIN=$env:PLAIN', 'URL=https://ada:$env:SERVER_PASS@a.example.com'],
  })
  expect(JSON.stringify(imported)).not.toContain('fixture')
})

test('a version that is none is not taken for one', () => {
  expect(draftOf({ packages: [{ registryType: 'npm', identifier: 'a', version: 'latest' }] })).toMatchObject({
    args: ['-y', 'a@latest'],
    version: 'unpinned',
  })
  expect(
    draftOf({ version: '^1.0.0', remotes: [{ type: 'streamable-http', url: 'https://a.example.com' }] }),
  ).toMatchObject({
    version: 'unpinned',
  })
})

test('the digest of a package is carried over only in its one form', () => {
  const withDigest = (fileSha256: string) =>
    draftOf({ packages: [{ registryType: 'npm', identifier: 'a', fileSha256 }] })

  expect(withDigest('a1'.repeat(32))).toMatchObject({ package_digest: `sha256:${'a1'.repeat(32)}` })
  expect(withDigest('A1'.repeat(32))).toMatchObject({ package_digest: `sha256:${'0'.repeat(64)}` })
})

test('a deprecated server is imported with a warning', () => {
  const packages = [{ registryType: 'npm', identifier: 'a', version: '1.0.0' }]
  const { problems } = importServers({ name: 'x/server', status: 'deprecated', packages })

  expect(problems).toContainEqual(expect.objectContaining({ severity: 'warning', path: ['status'] }))
})

function draftOf(server: Record<string, unknown>) {
  return importServers({ name: 'x/server', ...server }).manifest.servers[0]
}
