import { expect, test } from 'vitest'
import { isCommandAllowed } from '../policy/command-pattern.ts'
import { findGrant, readToolList, splitToolList } from './tool-grant.ts'

const granted = (text: string, tool: string, server?: string) =>
  findGrant(readToolList(splitToolList(text).entries).grants, { server, tool })

test('names of other programs become the tools of Matrix', () => {
  const names = (text: string) => [...readToolList(splitToolList(text).entries).grants.keys()]

  expect(names('Read, Grep')).toEqual(['read_file', 'list_files', 'search'])
  expect(names('MultiEdit Bash')).toEqual(['write_file', 'edit_file', 'bash', 'background'])
  expect(names('mcp__github__get_issue mcp__docs @git/status @git web/search')).toEqual([
    '@github/get_issue',
    '@docs',
    '@git/status',
    '@git',
    '@web/search',
  ])
  expect(names('mcp__mxd__read_file write_file')).toEqual(['read_file', 'write_file'])
  expect(names('Task Skill')).toEqual([])
})

test('what Matrix has no tool for is noted with its index, and grants nothing', () => {
  const { grants, notes } = readToolList(['Read', 'WebFetch(domain:example.com)', '../etc', ''])
  expect([...grants.keys()]).toEqual(['read_file', 'list_files', 'search'])
  expect(notes.map(({ index }) => index)).toEqual([1, 2, 3])
})

test('a list splits at commas and blanks, but not inside of brackets', () => {
  expect(splitToolList('Read,  Bash(git add:*), Bash(npm run test, (now)) Write')).toEqual({
    entries: ['Read', 'Bash(git add:*)', 'Bash(npm run test, (now))', 'Write'],
  })
})

test.each([
  ['with a bracket that is not closed', 'Read, Bash(git'],
  ['with one inside that is not closed', 'Read, Bash(git (a)'],
  ['with one that was not opened', 'Read) Bash'],
  ['with a blank before a limit', 'Bash (git:*)'],
  ['of 5,000 characters', 'Read '.repeat(1000)],
])('a list %s grants nothing', (_, text) => {
  expect(splitToolList(text)).toEqual({ entries: [], problem: expect.stringMatching(/^The list has/) })
  expect(readToolList(splitToolList(text).entries).grants.size).toBe(0)
})

test('a hostile list of 64 KB is read in no time', () => {
  const start = performance.now()
  for (const text of ['a('.repeat(32_768), 'a '.repeat(32_768)])
    expect([...readToolList(splitToolList(text).entries).grants, ...readToolList([text]).grants]).toEqual([])
  readToolList([`mcp__${'a__'.repeat(21_000)}\n`])
  expect(performance.now() - start).toBeLessThan(500)
})

test.each([
  ['Bash(git:*)', ['git', 'git status'], ['gitk', 'agit', 'git\u0000x'.slice(0, 2)]],
  ['Bash(npm run test *)', ['npm run test', 'npm run test --watch'], ['npm run tests', 'npm run']],
  ['Bash(git * main)', ['git push main'], ['git push', 'git push main x']],
  ['Bash(a.b|c)', ['a.b|c'], ['axb', 'c']],
])('%s holds commands to its pattern', (entry, yes, no) => {
  const { commands = [] } = granted(entry, 'bash') ?? {}
  expect(yes.filter((command) => !isCommandAllowed(commands, command))).toEqual([])
  expect(no.filter((command) => isCommandAllowed(commands, command))).toEqual([])
})

test('two entries for one tool allow what either does, and one without a limit has none', () => {
  expect(granted('Bash(git:*) Bash(ls)', 'bash')?.commands).toHaveLength(2)
  expect(granted('Bash(git:*) Bash', 'bash')).toEqual({})
  expect(granted('Read(./src/**)', 'read_file')).toEqual({ paths: ['src/**'] })
  expect(granted('Read', 'bash')).toBeUndefined()
  expect(granted('mcp__github__get_*', 'get_issue', 'github')).toEqual({})
  expect(granted('mcp__github__get_*', 'delete', 'github')).toBeUndefined()
  expect(granted('*', 'anything', 'x')).toEqual({})
})
