import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isHostWithin, isPathWithin } from './path-inclusion.ts'
import { matchesPathList } from './path-list.ts'

test.each([
  ['src', 'src'],
  ['src/deep/*.ts', 'src'],
  ['./src//a/', 'src'],
  ['src/../src/a', 'src'],
  ['src/a', 'src/**'],
  ['src/**', 'src'],
  ['src/*', 'src/**'],
  ['/etc/hosts', '/etc'],
  ['/../etc/hosts', '/etc'],
  ['anything', '/'],
  ['~/.ssh', '/'],
  ['anything/*', '.'],
  ['~/repo/x', '~/repo'],
  ['../lib/a', '../lib'],
  ['[x', '[x'],
])('%s lies within %s', (entry, outer) => {
  expect(isPathWithin(entry, outer)).toBe(true)
})

test.each([
  ['src', 'src/**'],
  ['src', 'src/a'],
  ['srcs', 'src'],
  ['src/../lib', 'src'],
  ['..', '.'],
  ['../../x', '..'],
  ['src', '/src'],
  ['/src', 'src'],
  ['~/x', '.'],
  ['~/../bob', '~'],
  ['sr*', 'src'],
  ['src/a.ts', 'src/*.ts'],
  ['{src/a,etc}/x', '{src'],
  ['**', 'src'],
])('%s is not proved to lie within %s', (entry, outer) => {
  expect(isPathWithin(entry, outer)).toBe(false)
})

const segment = fc.constantFrom('..', '.', '', 'a', 'b', '*', '**', 'a*', '{a', 'b}', '~')
const entries = fc
  .tuple(fc.constantFrom('', '/', '~/', './'), fc.array(segment, { maxLength: 4 }))
  .map(([start, segments]) => start + segments.join('/'))
  .filter((entry) => entry !== '')

test('what lies within an entry names no path that the entry does not, wherever both are resolved', () => {
  const folder = fc.constantFrom('/', '/a', '/a/b', '/b/[a]')
  const path = fc
    .array(fc.constantFrom('a', 'b', 'aa', '{a', 'b}', '*'), { maxLength: 5 })
    .map((parts) => `/${parts.join('/')}`)
  fc.assert(
    fc.property(entries, entries, folder, folder, path, (entry, outer, cwd, home, candidate) => {
      fc.pre(isPathWithin(entry, outer) && matchesPathList([entry], candidate, { cwd, home }))
      expect(matchesPathList([outer], candidate, { cwd, home })).toBe(true)
    }),
    { numRuns: 500, maxSkipsPerRun: 1000 },
  )
})

test('lying within is reflexive and transitive', () => {
  fc.assert(
    fc.property(entries, entries, entries, (a, b, c) => {
      expect(isPathWithin(a, a)).toBe(true)
      if (isPathWithin(a, b) && isPathWithin(b, c)) expect(isPathWithin(a, c)).toBe(true)
    }),
    { numRuns: 5000 },
  )
})

test('a host lies within itself, its domain and everything', () => {
  for (const outer of ['api.example.org', 'API.example.org', '*.example.org', '*.org', '*'])
    expect(isHostWithin('api.example.org', outer), outer).toBe(true)
  expect(isHostWithin('*.api.example.org', '*.example.org')).toBe(true)
  for (const outer of ['example.org', '*.example.com', 'evil.org', '*.*.org', '*example.org'])
    expect(isHostWithin('api.example.org', outer), outer).toBe(false)
  expect(isHostWithin('*', '*.example.org')).toBe(false)
  expect(isHostWithin('example.org', '*.example.org')).toBe(false)
  expect(isHostWithin('evil.com/.example.org', '*.example.org')).toBe(false)
})
