import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findShippedAgents } from './shipped-agents.ts'

test('from source, the agents of the repository are found', () => {
  expect(findShippedAgents()).toBe(join(import.meta.dirname, '../../../../agents'))
})

test('what was put beside a build or a bundle goes before what lies further up', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'matrix-agents-'))
  for (const place of ['agents', 'app/dist/agents']) {
    await mkdir(join(folder, place), { recursive: true })
    await writeFile(join(folder, place, 'default.json'), '{}')
  }

  expect(findShippedAgents(join(folder, 'app/dist/adapters/shipped-agents.js'))).toBe(join(folder, 'app/dist/agents'))
  expect(findShippedAgents(join(folder, 'app/dist/chunks/x.js'))).toBe(join(folder, 'app/dist/agents'))
  expect(findShippedAgents(join(folder, 'app/x.js'))).toBe(join(folder, 'agents'))
  await rm(folder, { recursive: true })
})

test('where there are none, that is said', () => {
  expect(() => findShippedAgents('/nowhere/at/all.js')).toThrow(expect.objectContaining({ code: 'AGENT_UNKNOWN' }))
})
