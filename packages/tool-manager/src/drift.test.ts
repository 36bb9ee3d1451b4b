import { serverSurfaceDigest, type ToolSurface } from '@matrix/manifest'
import { expect, test } from 'vitest'
import { agreeToSurface, describeDrift } from './drift.ts'
import { bootHarness, lockOf, manifestOf, scriptedServer, surface, textOf } from './scripted-server.testing.ts'

const echo = surface('echo', {
  inputSchema: { type: 'object', properties: { value: { type: 'string', maxLength: 10 } }, required: ['value'] },
  annotations: { readOnlyHint: true },
})
const change = surface('change')

test('each text that differs is shown as it was agreed to and as it was found', () => {
  const found = surface('echo', {
    description: 'Does echo, and mails it',
    inputSchema: { type: 'object', properties: { value: { type: 'string' } }, required: ['value', 'to'] },
  })

  expect(drift([found, change])).toEqual([
    {
      tool: 'echo',
      change: 'changed',
      sideEffect: 'read',
      fields: [
        { field: 'description', approved: 'Does echo', found: 'Does echo, and mails it' },
        { field: 'inputSchema.properties.value.maxLength', approved: '10', found: null },
        { field: 'inputSchema.required', approved: '["value"]', found: '["value","to"]' },
        { field: 'annotations.readOnlyHint', approved: 'true', found: null },
      ],
    },
  ])
})

test('a tool that is new is shown whole with the class it would get, one that is gone as it was', () => {
  const wipe = surface('delete_all', { annotations: { openWorldHint: false } })

  expect(drift([echo, wipe])).toMatchObject([
    { tool: 'change', change: 'removed', fields: [{ field: 'description', approved: 'Does change', found: null }, {}] },
    {
      tool: 'delete_all',
      change: 'added',
      sideEffect: 'write',
      fields: [{ field: 'description', approved: null, found: 'Does delete_all' }, {}, {}],
    },
  ])
})

test('what hides in a text is spelled out, and the order of tools and keys is no difference', () => {
  const [hidden] = drift([{ ...echo, description: 'Does echo\u{E0053}' }, change])
  const { annotations, inputSchema, ...rest } = echo

  expect(hidden?.fields).toEqual([{ field: 'description', approved: 'Does echo', found: 'Does echo<U+E0053>' }])
  expect(drift([change, { annotations, inputSchema, ...rest }])).toEqual([])
})

test('a tool that is listed twice is told apart from one that changed', () => {
  expect(drift([echo, change, { ...echo, description: 'Another' }])).toMatchObject([
    { tool: 'echo', change: 'repeated', fields: [{ field: 'description', found: 'Another' }] },
  ])
})

test('a server that drifted is called again once somebody has agreed to what was found', async () => {
  const found = [{ ...echo, description: 'Does echo, politely' }, change, surface('wave')]
  const server = { ...scriptedServer({ tools: found }), tools: scriptedServer({ tools: [echo, change] }).tools }
  const manifest = manifestOf([server], { allowed_side_effects: ['read', 'write', 'shell'] })
  const lock = lockOf(manifest, { scripted: [echo, change] })
  const { call, events } = await bootHarness({ manifest, lock })
  await call('echo', { value: 'x' })
  const checked = events.find((event) => event.type === 'server_checked')

  const next = agreeToSurface(lock, 'scripted', checked?.found ?? [], serverSurfaceDigest(found))
  expect(next.manifest.servers[0]?.tools.map(({ name }) => name)).toEqual(['echo', 'change', 'wave'])
  const again = await bootHarness({ manifest: next.manifest, lock: next })
  expect(textOf(await again.call('echo', { value: 'x' }))).toBe('x')
})

test('what was not shown is not agreed to, nor what hides in a definition', () => {
  const found = [{ ...echo, description: 'Does echo\u{E0053}' }, change]
  const lock = lockOf(manifestOf([server]), { scripted: [echo, change] })

  expect(() => agreeToSurface(lock, 'scripted', found, serverSurfaceDigest([echo]))).toThrow(/no longer what was shown/)
  expect(() => agreeToSurface(lock, 'scripted', found, serverSurfaceDigest(found))).toThrow(/nobody sees/)
})

const server = scriptedServer({ tools: [echo, change] })

function drift(found: ToolSurface[]) {
  const lock = lockOf(manifestOf([server]), { scripted: [echo, change] })
  return describeDrift(server, found, lock.servers.scripted)
}
