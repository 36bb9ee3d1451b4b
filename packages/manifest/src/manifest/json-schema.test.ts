import { readdirSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { expect, test } from 'vitest'
import { manifestJsonSchema } from './json-schema.ts'
import { Manifest } from './manifest.ts'

const fixtures = new URL('../../fixtures/matrix/', import.meta.url)

test('the published schema is the one the code enforces', async () => {
  await expect(`${JSON.stringify(manifestJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../schemas/agent-manifest.v1.schema.json',
  )
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

function compiled() {
  const ajv = new Ajv({ strict: false })
  addFormats.default(ajv)
  return ajv.compile(manifestJsonSchema())
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, fixtures), 'utf8'))
}
