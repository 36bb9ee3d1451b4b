import { expect, test } from 'vitest'
import { madeUpToken } from '../manifest/credential.testing.ts'
import { MAX_DEPTH } from './document.ts'
import { findCredentials, findHidden } from './text-check.ts'

test('a credential is found at any depth of a value, by the name that is nearest to it', () => {
  const value = { a: { b: [{ c: { apiToken: 'hunter2hunter2', note: 'hunter2hunter2' } }] } }

  expect(findCredentials(value, ['extensions'])).toMatchObject([
    { rule: 'MX008', path: ['extensions', 'a', 'b', 0, 'c', 'apiToken'] },
  ])
})

test('the name of a list says nothing about what stands in it', () => {
  expect(findCredentials({ allowedKeys: ['north-door', 'south-door'] }, [])).toEqual([])
  expect(findCredentials({ notes: [madeUpToken] }, [])).toMatchObject([{ path: ['notes', 0] }])
})

test('a value deeper than any document is not followed to its end', () => {
  let value: unknown = { apiToken: 'hunter2hunter2' }
  for (let depth = 0; depth < 100_000; depth += 1) value = { value }

  expect(findCredentials(value, [])).toEqual([])
  expect(MAX_DEPTH).toBeLessThan(1_000)
})

test('hidden characters are named by their code points', () => {
  expect(findHidden('a\u202eb\u200b', ['prompt'])).toMatchObject([
    { rule: 'MX024', path: ['prompt'], message: expect.stringContaining('U+202E, U+200B') },
  ])
  expect(findHidden('plain', [])).toEqual([])
  expect(findHidden(null, [])).toEqual([])
})
