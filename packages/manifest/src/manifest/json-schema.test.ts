import { readdirSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { expect, test } from 'vitest'
import { parseDocument } from '../document/document.ts'
import { formatJsonSchema, type SchemaFormat } from './json-schema.ts'
import { Manifest } from './manifest.ts'

const fixtures = new URL('../../fixtures/matrix/', import.meta.url)

test.each<[SchemaFormat, string]>([
  ['manifest', 'agent-manifest.v1'],
  ['agent-format', 'agent-format'],
  ['gpars', 'gpars.v0.1'],
  ['lock', 'lock.v1'],
])('the published schema of %s is the one the code enforces', async (format, file) => {
  await expect(`${JSON.stringify(formatJsonSchema(format), null, 2)}\n`).toMatchFileSnapshot(
    `../../schemas/${file}.schema.json`,
  )
})

test.each<[SchemaFormat, string]>([
  ['agent-format', 'agent-format'],
  ['gpars', 'gpars'],
  ['lock', 'locks'],
])('a draft-07 validator accepts every good file of %s and refuses what has another form', (format, folder) => {
  const validate = compiled(format)
  const good = new URL(`../../fixtures/${folder}/good/`, import.meta.url)

  for (const name of readdirSync(good)) {
    if (!name.endsWith('.json')) continue
    const { value } = parseDocument(readFileSync(new URL(name, good)), { relaxed: true })
    expect(validate(value), `${name} ${JSON.stringify(validate.errors?.[0])}`).toBe(true)
  }
  for (const bad of [{}, [], { name: 5 }, { id: 5, required_mcp_servers: {} }, { lock_version: 'x' }])
    expect(validate(bad), JSON.stringify(bad)).toBe(false)
})

test('a draft-07 validator accepts good manifests and refuses malformed ones', () => {
  const validate = compiled()

  for (const name of readdirSync(new URL('good/', fixtures))) expect(validate(read(`good/${name}`)), name).toBe(true)
  expect(validate(read('bad/many.json'))).toBe(false)
  expect(validate({ schema_version: 1, agent: 'matrix://agent/a', servers: [] })).toBe(false)
})

test('versions, agents and tool names are held to the same form as in the code', () => {
  const validate = compiled()
  const good = read('good/minimal.json') as Record<string, unknown>
  const server = { alias: 'a', transport: 'http', endpoint: 'https://example.org/', version: '1.0.0' }
  const withServer = (version: string, name: string) => ({
    ...good,
    servers: [{ ...server, version, tools: [{ name, side_effect_class: 'read' }] }],
  })

  expect(validate(withServer('1.0.0', 'read'))).toBe(true)
  for (const version of ['1.0.0 or later', '1.0.0.0', '01.0.0', 'v1.0.0']) {
    expect(validate(withServer(version, 'read')), version).toBe(false)
    expect(Manifest.safeParse(withServer(version, 'read')).success, version).toBe(false)
  }
  for (const name of ['__proto__', '.', '..']) {
    expect(validate(withServer('1.0.0', name)), name).toBe(false)
    expect(Manifest.safeParse(withServer('1.0.0', name)).success, name).toBe(false)
  }
  expect(validate({ ...good, agent: 'matrix://agent/a b' })).toBe(false)
})

function compiled(format: SchemaFormat = 'manifest') {
  const ajv = new Ajv({ strict: false })
  addFormats.default(ajv)
  return ajv.compile(formatJsonSchema(format))
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, fixtures), 'utf8'))
}
