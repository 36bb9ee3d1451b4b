import { expect, test } from 'vitest'
import { openEnvironmentNames } from './environment-names.ts'
import { environmentGap, type Gap } from './template.ts'

test('one key has one name, and two keys never share one', () => {
  const names = openEnvironmentNames([])

  expect(names.claim('a', 'API_KEY', 'github')).toBe('API_KEY')
  expect(names.claim('a', 'API_KEY', 'slack')).toBe('API_KEY')
  expect(names.claim('b', 'API_KEY', 'slack')).toBe('SLACK_API_KEY')
  expect(names.claim('c', 'API_KEY', 'slack')).toBe('SLACK_API_KEY_2')
})

test('a name that the file itself gives is kept for what it means there', () => {
  const names = openEnvironmentNames([['Bearer ', environmentGap('GITHUB_TOKEN')]])

  expect(names.claim('literal', 'GITHUB_TOKEN', 'github')).toBe('GITHUB_TOKEN_2')
  expect(names.nameOf(environmentGap('GITHUB_TOKEN'), 'github')).toBe('GITHUB_TOKEN')
})

test('what belongs to one server is named after it, once', () => {
  const names = openEnvironmentNames([])
  const gap: Gap = { key: 'folder', variable: 'DIRECTORY', naming: 'own' }

  expect([names.nameOf(gap, 'file-notes'), names.nameOf(gap, 'other'), names.nameOf(gap, 'other')]).toEqual([
    'FILE_NOTES_DIRECTORY',
    'OTHER_DIRECTORY',
    'OTHER_DIRECTORY',
  ])
  expect(names.nameOf({ ...gap, variable: 'OTHER_TOKEN', key: 'token' }, 'other')).toBe('OTHER_TOKEN')
})
