import { expect, test } from 'vitest'
import { madeUpToken } from '../manifest/credential.testing.ts'
import { quoteText } from './quoted-text.ts'

test('a message repeats what the author wrote, on one line', () => {
  expect(quoteText('@git.status')).toBe('"@git.status"')
  expect(quoteText('a\nb')).toBe('"a\\nb"')
  expect(quoteText('😀'.repeat(100))).toBe(`"${'😀'.repeat(80)}…"`)
})

test('a message never repeats a credential', () => {
  expect(quoteText(`curl -H "Authorization: Bearer ${madeUpToken}"`)).toBe('"…"')
})
