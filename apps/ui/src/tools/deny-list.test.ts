import { expect, test } from 'vitest'
import { denyPattern, readDenied, toggleDenied } from './deny-list.ts'

test('a tool is blocked by the name that the setting uses', () => {
  expect(denyPattern('mxd', 'bash')).toBe('bash')
  expect(denyPattern('github', 'create_issue')).toBe('@github/create_issue')
})

test('blocking and unblocking leaves every other rule alone', () => {
  const denied = toggleDenied(['@github/*'], 'bash')

  expect(denied).toEqual(['@github/*', 'bash'])
  expect(toggleDenied(denied, 'bash')).toEqual(['@github/*'])
})

test('settings without the list block nothing', () => {
  expect(readDenied({ entries: [], problems: [] })).toEqual([])
})
