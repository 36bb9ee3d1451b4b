import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { manifestDigest } from '../manifest/digest.ts'
import { createLock, formatLock, Lock, type Resolved } from './lock.ts'
import { describeLock } from './lock-words.ts'
import { serverSurfaceDigest, toolSurfaceDigest } from './surface.ts'

const locks = new URL('../../fixtures/locks/good/', import.meta.url)

test('every recorded lock is in the one form that locks are written in', () => {
  for (const file of readdirSync(locks)) {
    const text = readFileSync(new URL(file, locks), 'utf8')
    expect(formatLock(Lock.parse(JSON.parse(text)))).toBe(text)
  }
})

test('a lock holds the digest of the manifest, of each definition and of them all', () => {
  const lock = createLock(resolved)
  const echo = lock.servers.echo

  expect(lock.manifest_digest).toBe(manifestDigest(resolved.manifest))
  expect(echo?.tools.say?.surface).toBe(toolSurfaceDigest(say))
  expect(echo?.surface).toBe(serverSurfaceDigest([hear, say]))
  expect(Lock.parse(lock)).toEqual(lock)
})

test('the policy goes into the lock as it is', () => {
  const policy = { tools: ['@echo'], allowedTools: [], toolsSettings: {}, resources: [], hooks: {} }
  expect(createLock({ ...resolved, policy }).policy).toEqual(policy)
  expect(createLock(resolved)).not.toHaveProperty('policy')
})

test('of what a server advertises, only the surface is kept', () => {
  const decorated = { ...say, icons: [{ src: 'data:,' }], _meta: { 'example.org/seen': 1 } }
  const server = { ...resolved.servers.echo, tools: [decorated, hear] } as Resolved['servers'][string]

  expect(formatLock(createLock({ ...resolved, servers: { echo: server } }))).toBe(formatLock(createLock(resolved)))
})

test('the text is the same whatever order things came in, and ends with a line break', () => {
  const text = formatLock(createLock(resolved))
  const value = JSON.parse(text)

  fc.assert(
    fc.property(fc.integer(), (seed) => {
      expect(formatLock(shuffled(value, seed) as Lock)).toBe(text)
    }),
  )
  expect(text.endsWith('}\n')).toBe(true)
  expect(JSON.parse(text)).toEqual(createLock(resolved))
})

test('characters that nobody sees are written as escapes and read back as they were', () => {
  const description = 'Says\u202E it \u{E0041}again, é and 👩‍👩‍👧 too.'
  const server = { ...resolved.servers.echo, tools: [{ ...say, description }] } as Resolved['servers'][string]
  const text = formatLock(createLock({ ...resolved, servers: { echo: server } }))

  expect(text).toContain('Says\\u202e it \\udb40\\udc41again, é and 👩‍👩‍👧 too.')
  expect(JSON.parse(text).servers.echo.tools.say.definition.description).toBe(description)
})

test('a server that lists a tool twice cannot be locked', () => {
  const server = { ...resolved.servers.echo, tools: [say, say] } as Resolved['servers'][string]
  expect(() => createLock({ ...resolved, servers: { echo: server } })).toThrowError(
    expect.objectContaining({ code: 'TOOL_DRIFT' }),
  )
})

const say = { name: 'say', description: 'Says it again.', inputSchema: { type: 'object' } }
const hear = { name: 'hear', inputSchema: { type: 'object', properties: { 10: {}, 9: {}, a: {} } } }
const digest = 'sha256:a239da270c403c42eb03e1ca7cca07c858085819797b74856ddbb91b50491b1a'
const resolved: Resolved = {
  source: { format: 'matrix', digest },
  manifest: {
    schema_version: 1,
    agent: 'matrix://agent/parrot',
    allowed_side_effects: ['read'],
    servers: [
      {
        alias: 'echo',
        transport: 'stdio',
        command: 'npx',
        args: ['echo@1.0.0'],
        version: '1.0.0',
        package_digest: digest,
        tools: [
          { name: 'say', side_effect_class: 'read' },
          { name: 'hear', side_effect_class: 'read' },
        ],
      },
    ],
  },
  servers: {
    echo: {
      transport: 'stdio',
      launch: { command: 'node', args: ['echo.js'] },
      package: { ecosystem: 'npm', name: 'echo', version: '1.0.0', digest },
      tools: [say, hear],
    },
  },
}

/** The same value with its keys in another order; lists stay as they are. */
function shuffled(value: unknown, seed: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((each) => shuffled(each, seed))
  const rank = (key: string) => Math.imul(seed ^ key.length, key.charCodeAt(0) * 2654435761)
  const entries = Object.entries(value).sort(([a], [b]) => rank(a) - rank(b))
  return Object.fromEntries(entries.map(([key, part]) => [key, shuffled(part, seed)]))
}

test('the words about a lock show how the prompt starts, on one line', () => {
  const file = readdirSync(locks)[0] ?? ''
  const lock = Lock.parse(JSON.parse(readFileSync(new URL(file, locks), 'utf8')))
  const words = (prompt: string) =>
    describeLock({
      ...lock,
      policy: { tools: [], allowedTools: [], toolsSettings: {}, resources: [], hooks: {}, prompt },
    })

  expect(words('KEY=1\nB=\u202e2')).toContain('Brings a prompt of 10 characters: KEY=1 B=<U+202E>2')
  expect(words('x'.repeat(201))).toContain(`Brings a prompt of 201 characters: ${'x'.repeat(200)} …`)
})
