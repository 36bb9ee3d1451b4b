import { readFileSync } from 'node:fs'
import { type Policy, type Tool, type ToolSettings, ToolSurface } from '@matrix/manifest'
import { expect, test } from 'vitest'
import type { ApprovalPort } from './approval.ts'
import { bootHarness, lockOf, manifestOf, scriptedServer, surface, temporaryFolder } from './scripted-server.testing.ts'

const text = { type: 'string' }
const opens = (more: object = {}, properties: object = { p: { ...text, description: 'The file to read' } }) =>
  surface('echo', { inputSchema: { type: 'object', properties, ...more } })

test('a rule about paths looks at the argument that the lock says is one, whatever it is called', async () => {
  const { call } = await agent({ definition: opens(), settings: { allowedPaths: ['ok'] } })

  expect(await call({ p: 'ok/a' })).toBe('ran')
  expect(await call({ p: 'secret.txt' })).toBe('asked')
})

test('a decoy in an open definition does not stand in for the real argument', async () => {
  const open = opens({ additionalProperties: true }, { path: text })
  const { call } = await agent({ definition: open, settings: { allowedPaths: ['ok'] } })

  expect(await call({ path: 'ok/a' })).toBe('ran')
  expect(await call({ path: 'ok/a', p: 'secret.txt' })).toBe('asked')
  expect(await call({ path: 'ok/a', options: { p: 'ok/b' } })).toBe('asked')
})

test('a definition that names nothing leaves a rule about paths undecided', async () => {
  const anything = surface('echo')
  const denying = await agent({ definition: anything, settings: { deniedPaths: ['/srv/x'] } })
  const strict = await agent({ definition: anything, settings: { deniedPaths: ['/srv/x'], denyByDefault: true } })

  expect(await denying.call({ path: '/srv/x/y' })).toBe('refused')
  expect(await denying.call({ path: 'other.txt' })).toBe('asked')
  expect(await strict.call({ path: 'other.txt' })).toBe('refused')
})

test('nested objects and lists of paths are held to the list', async () => {
  const moves = {
    type: 'array',
    items: { type: 'object', properties: { from: { ...text, description: 'Path of the file' }, to: text } },
  }
  const definition = opens({}, { moves, paths: { type: 'array', items: text } })
  const { call } = await agent({ definition, settings: { allowedPaths: ['ok'] } })

  expect(await call({ moves: [{ from: 'ok/a', to: 'x' }], paths: ['ok/b'] })).toBe('ran')
  expect(await call({ moves: [{ from: 'ok/a' }, { from: 'secret.txt' }], paths: ['ok/b'] })).toBe('asked')
  expect(await call({ moves: [{ from: 'ok/a' }], paths: ['ok/b', '../x'] })).toBe('asked')
})

test('the manifest says which argument is a path where its definition does not', async () => {
  const definition = opens({}, { q: text })
  const settings = { allowedPaths: ['ok'] }
  const unsaid = await agent({ definition, settings })
  const said = await agent({ definition, settings, tool: { arguments: { paths: ['q'] } } })

  expect(await unsaid.call({ q: 'ok/a' })).toBe('asked')
  expect(await said.call({ q: 'ok/a' })).toBe('ran')
  expect(await said.call({ q: 'secret.txt' })).toBe('asked')
})

test('rules about commands and hosts follow the roles too', async () => {
  const definition = opens(
    {},
    { line: { ...text, description: 'The shell command' }, site: { ...text, format: 'uri' } },
  )
  const commands = await agent({ definition, settings: { allowedCommands: ['echo .*'] } })
  const hosts = await agent({ definition, settings: { allowedHosts: ['good.example'] } })

  expect(await commands.call({ line: 'echo hi' })).toBe('ran')
  expect(await commands.call({ line: 'echo hi; id' })).toBe('asked')
  expect(await hosts.call({ site: 'https://good.example/' })).toBe('ran')
  expect(await hosts.call({ site: 'https://evil.example/' })).toBe('asked')
})

test('an argument that is not declared is refused before a user is asked', async () => {
  const locked = await agent({ definition: opens(), settings: { allowedPaths: ['nothing'] } })
  const unlocked = await agent({ definition: opens(), settings: { allowedPaths: ['nothing'] }, isLocked: false })

  expect(await locked.call({ p: 'a', decoy: 'b' })).toBe('refused')
  expect(await unlocked.call({ p: 'a', decoy: 'b' })).toBe('refused')
  expect(await unlocked.call({ p: 'a' })).toBe('asked')
})

test('of a public server of files every path gets the role', async () => {
  const file = new URL(
    '../../manifest/fixtures/surfaces/modelcontextprotocol-server-filesystem-2026.8.31.json',
    import.meta.url,
  )
  const tools = ToolSurface.array().parse(JSON.parse(readFileSync(file, 'utf8')).tools)
  const servers = [scriptedServer({ tools })]
  const lock = lockOf(manifestOf(servers), { scripted: tools })
  const roles = Object.entries(lock.servers.scripted?.tools ?? {}).map(([name, each]) => [name, each.arguments?.paths])

  expect(Object.fromEntries(roles)).toMatchObject({
    read_text_file: ['path'],
    read_multiple_files: ['paths[]'],
    move_file: ['destination', 'source'],
    list_allowed_directories: undefined,
  })
})

type Agent = { definition: ToolSurface; settings: ToolSettings; tool?: Partial<Tool>; isLocked?: boolean }

/** An agent whose one tool runs unasked but for its settings, and a user who says no. */
async function agent({ definition, settings, tool, isLocked = true }: Agent) {
  let asked = 0
  const approve: ApprovalPort = async () => {
    asked += 1
    return { decision: 'deny' }
  }
  const server = scriptedServer({ tools: [definition] })
  const servers = [{ ...server, tools: [{ name: 'echo', side_effect_class: 'read' as const, ...tool }] }]
  const manifest = manifestOf(servers)
  const policy: Policy = {
    tools: ['*'],
    allowedTools: ['@scripted'],
    toolsSettings: { '@scripted/echo': settings },
    resources: [],
    hooks: {},
  }
  const lock = isLocked ? lockOf(manifest, { scripted: [definition] }) : undefined
  const harness = await bootHarness({ manifest, lock, policy, approve, worktree: temporaryFolder() })
  return {
    async call(input: object): Promise<'ran' | 'asked' | 'refused'> {
      const before = asked
      const { isError } = await harness.call('echo', input)
      if (asked > before) return 'asked'
      return isError ? 'refused' : 'ran'
    },
  }
}
