import { createLock, digestValue, type Manifest, type StdioServer, type ToolSurface } from '@matrix/manifest'
import { openRedactor } from '@matrix/tool-manager'
import { expect, test } from 'vitest'
import { viewDrift } from './server-drift.ts'

const secret = 'canary-0123456789'

test('a credential that a server writes into its definitions is shown to nobody, and nobody can agree to it', () => {
  const redactor = openRedactor()
  redactor.add('TOKEN', secret)
  const drift = viewDrift(server, [surface(`Reads with ${secret}.`)], { lock, redactor })

  expect(JSON.stringify(drift)).not.toContain(secret)
  expect(drift).toMatchObject({
    obstacle: expect.stringContaining('a credential'),
    tools: [{ fields: [{ field: 'description', approved: 'Reads.', found: 'Reads with [redacted TOKEN].' }] }],
  })
})

test('more than anybody could read is cut, and nobody can agree to it', () => {
  const drift = viewDrift(server, [surface('x'.repeat(1_000_000))], { lock, redactor: openRedactor() })

  expect(drift).toMatchObject({ surface: null, obstacle: expect.stringContaining('could read') })
  expect(JSON.stringify(drift).length).toBeLessThan(2000)
})

test('where nothing was locked, that is said', () => {
  const drift = viewDrift(server, [surface('Reads.'), { ...surface('More.'), name: 'more' }], {
    lock: undefined,
    redactor: openRedactor(),
  })

  expect(drift).toMatchObject({
    obstacle: expect.stringContaining('matrix lock'),
    tools: [{ tool: 'more', change: 'added' }],
  })
})

const server: StdioServer = {
  alias: 'notes',
  transport: 'stdio',
  command: 'node',
  args: ['/notes.mjs'],
  version: '1.0.0',
  package_digest: digestValue('notes'),
  tools: [{ name: 'read_note', side_effect_class: 'read' }],
}

const manifest: Manifest = {
  schema_version: 1,
  agent: 'matrix://agent/notes',
  allowed_side_effects: ['read'],
  servers: [server],
}

const lock = createLock({
  source: { format: 'matrix', digest: digestValue(manifest) },
  manifest,
  servers: {
    notes: {
      transport: 'stdio',
      launch: { command: 'node', args: ['/notes.mjs'] },
      package: { ecosystem: 'file', name: '/notes.mjs', version: '1.0.0', digest: digestValue('notes') },
      tools: [surface('Reads.')],
    },
  },
})

function surface(description: string): ToolSurface {
  return { name: 'read_note', description, inputSchema: { type: 'object' } }
}
