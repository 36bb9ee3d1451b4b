import { expect, test } from 'vitest'
import { importServers } from './import.ts'

test('the settings of a system replace the common ones, one by one', () => {
  const mcp_config = {
    command: 'node',
    args: ['${__dirname}/index.js'],
    env: { A: '1' },
    platform_overrides: { win32: { command: 'node.exe' }, darwin: { env: { B: '2' } } },
  }
  const draftFor = (platform?: 'win32' | 'darwin') =>
    importServers(bundle({ mcp_config }), platform && { platform }).manifest.servers[0]

  expect(draftFor('win32')).toMatchObject({
    command: 'node.exe',
    env: ['A=1'],
    args: ['$env:BUNDLE_DIRECTORY/index.js'],
  })
  expect(draftFor('darwin')).toMatchObject({ command: 'node', env: ['B=2'] })
  expect(draftFor()).toMatchObject({ command: 'node', env: ['A=1'] })
})

test('without mcp_config, the type and the entry point say how the bundle is started', () => {
  const lineOf = (type: string) => {
    const [draft] = importServers(bundle({ type, entry_point: 'main' })).manifest.servers
    return draft?.transport === 'stdio' ? [draft.command, ...draft.args].join(' ') : undefined
  }

  expect(lineOf('node')).toBe('node $env:BUNDLE_DIRECTORY/main')
  expect(lineOf('python')).toBe('python $env:BUNDLE_DIRECTORY/main')
  expect(lineOf('binary')).toBe('$env:BUNDLE_DIRECTORY/main')
  expect(lineOf('uv')).toBe('uv run --directory $env:BUNDLE_DIRECTORY $env:BUNDLE_DIRECTORY/main')
  expect(lineOf('constructor')).toBeUndefined()
})

test('a sensitive setting is a reference even where the bundle brings a default for it', () => {
  const env = { A: '${user_config.login}', B: '${user_config.api_key}', C: 'x-${user_config.login}' }
  const user_config = { login: { sensitive: true, default: 'fixture-login' }, api_key: { default: 'fixture-key' } }
  const imported = importServers({ ...bundle({ mcp_config: { command: 'node', env } }), user_config })

  expect(imported.manifest.servers[0]).toMatchObject({
    env: ['A=$env:BUNDLE_LOGIN', 'B=$env:BUNDLE_API_KEY', 'C=x-$env:BUNDLE_LOGIN'],
  })
  expect(JSON.stringify(imported)).not.toContain('fixture')
})

test('an optional secret stays optional', () => {
  const env = { A: '${user_config.optional}', B: '${user_config.needed}' }
  const user_config = { optional: { sensitive: true }, needed: { sensitive: true, required: true } }
  const { manifest, problems } = importServers({ ...bundle({ mcp_config: { command: 'node', env } }), user_config })

  expect(manifest.servers[0]).toMatchObject({ env: ['B=$env:BUNDLE_NEEDED'] })
  expect(problems.map(({ message }) => message)).toContain('"A" is optional and has no value here; it was left out.')
})

test('a setting that the bundle does not declare is a gap like any other', () => {
  const mcp_config = { command: 'node', args: ['${user_config.nowhere}'] }

  expect(importServers(bundle({ mcp_config })).manifest.servers[0]).toMatchObject({ args: ['$env:BUNDLE_NOWHERE'] })
})

test('the tools of a bundle are carried over without a class, which nobody has decided yet', () => {
  const tools = [{ name: 'a', description: 'Does a' }, { name: 'b', extra: 1 }, { description: 'nameless' }, 'c']
  const { manifest } = importServers({ ...bundle({ mcp_config: { command: 'node' } }), tools })

  expect(manifest.servers[0]?.tools).toEqual([{ name: 'a', description: 'Does a' }, { name: 'b' }])
})

test('a bundle that cannot be started is said to be so', () => {
  const rulesOf = (server: Record<string, unknown>) => importServers(bundle(server)).problems.map(({ rule }) => rule)

  expect(rulesOf({})).toEqual(['MX003', 'MX029'])
  expect(rulesOf({ mcp_config: { command: 'node', args: 'x', env: { A: 1 } } })).toEqual(['MX001', 'MX001', 'MX029'])
})

function bundle(server: Record<string, unknown>) {
  return { manifest_version: '0.3', name: 'bundle', version: '1.0.0', server }
}
