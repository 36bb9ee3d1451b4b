import { readdirSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { expect, test } from 'vitest'
import { manifestJsonSchema } from './json-schema.ts'

const fixtures = new URL('../../fixtures/matrix/', import.meta.url)

test('the published schema is the one the code enforces', async () => {
  await expect(`${JSON.stringify(manifestJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../schemas/agent-manifest.v1.schema.json',
  )
})

test('a draft-07 validator accepts good manifests and refuses malformed ones', () => {
  const ajv = new Ajv({ strict: false })
  addFormats.default(ajv)
  const validate = ajv.compile(manifestJsonSchema())

  for (const name of readdirSync(new URL('good/', fixtures))) expect(validate(read(`good/${name}`)), name).toBe(true)
  expect(validate(read('bad/many.json'))).toBe(false)
  expect(validate({ schema_version: 1, agent: 'matrix://agent/a', servers: [] })).toBe(false)
})

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, fixtures), 'utf8'))
}
