import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isPathDenied, isReadablePath, matchesPathList, mayHoldDenied } from './path-list.ts'

const base = { cwd: '/repo/app', home: '/home/ada' }
const matches = (entry: string, path: string) => matchesPathList([entry], path, base)

test('an entry is the path itself and everything below it', () => {
  expect(matches('src', 'src')).toBe(true)
  expect(matches('src', '/repo/app/src/deep/file.ts')).toBe(true)
  expect(matches('src/', 'src/file.ts')).toBe(true)
  expect(matches('src', 'srcs/file.ts')).toBe(false)
  expect(matches('src', '/repo/src/file.ts')).toBe(false)
  expect(matches('.', 'anything')).toBe(true)
  expect(matches('.', '/repo/apple')).toBe(false)
  expect(matches('/', '/etc/passwd')).toBe(true)
})

test('a tilde is the home folder, but only at the start of an entry', () => {
  expect(matches('~', '/home/ada/.ssh/id')).toBe(true)
  expect(matches('~/.ssh', '/home/ada/.ssh/id')).toBe(true)
  expect(matches('~ada/.ssh', '/home/ada/.ssh/id')).toBe(false)
  expect(matches('~ada/x', '/home/ada/ada/x')).toBe(false)
  expect(matches('~ada/x', '~ada/x/file')).toBe(true)
  expect(matches('~/.ssh', '~/.ssh/id')).toBe(false)
})

test('dots are resolved on both sides before anything is compared', () => {
  expect(matches('src', 'src/../secret')).toBe(false)
  expect(matches('../lib/./x', '/repo/lib/x/y')).toBe(true)
  expect(matches('secret', 'src/../secret/key')).toBe(true)
  expect(matches('/../../etc', '/etc/passwd')).toBe(true)
})

test('wildcards cross folders', () => {
  expect(matches('src/**', 'src/a/b.ts')).toBe(true)
  expect(matches('*.md', 'docs/deep/readme.md')).toBe(true)
  expect(matches('/srv/**/secret.txt', '/srv/secret.txt')).toBe(true)
  expect(matches('/srv/*/key', '/srv/a/key/below')).toBe(true)
  expect(matches('src/*.ts', 'lib/a.ts')).toBe(false)
})

test('names that look like patterns still name themselves', () => {
  expect(matches('app/[id]/page.tsx', 'app/[id]/page.tsx')).toBe(true)
  expect(matches('app/{x', 'app/{x/file')).toBe(true)
  expect(matchesPathList(['src'], 'src/a', { cwd: '/repo/[app]', home: '/' })).toBe(true)
  expect(matchesPathList(['src*'], '/repo/a/src', { cwd: '/repo/[app]', home: '/' })).toBe(false)
})

test('an entry that cannot be read denies everything and allows only what is spelled like it', () => {
  expect(isReadablePath('src/[a')).toBe(false)
  expect(isPathDenied(['src/[a'], 'elsewhere', base)).toBe(true)
  expect(matchesPathList(['src/[a', ''], 'elsewhere', base)).toBe(false)
  expect(isPathDenied([''], 'elsewhere', base)).toBe(true)
  expect(isPathDenied(['src'], 'elsewhere', base)).toBe(false)
  expect(isPathDenied([], 'elsewhere', base)).toBe(false)
})

test.each([
  ['src/secret', 'src', true],
  ['src/secret', '.', true],
  ['src/secret', 'src/secret', true],
  ['src/secret', 'src/other', false],
  ['/etc/shadow', '/', true],
  ['/etc/shadow', '.', false],
  ['**/.env', 'src/deep', true],
  ['src/*.key', 'src', true],
  ['src/*.key', 'src/deep', true],
  ['src/*.key', 'lib', false],
  ['src/*.key', '.', true],
  ['[id]/key', '[id]', true],
  ['[id]/key', 'elsewhere', true],
])('%s may lie in %s: %s', (entry, folder, answer) => {
  expect(mayHoldDenied([entry], folder, base)).toBe(answer)
})

test('a deny list holds in a folder so deep that its patterns become too long', () => {
  const deep = { cwd: `/${'long/'.repeat(800)}`, home: '/' }

  expect(isPathDenied(['*.key'], 'server.key', deep)).toBe(true)
  expect(matchesPathList(['*.key'], 'server.key', deep)).toBe(false)
  expect(isPathDenied(['keys'], 'keys/server', deep)).toBe(true)
})

test('no spelling of a path gets out of the folder that an entry names', () => {
  const segment = fc.constantFrom('..', '.', '', 'src', 'a', '[b]', '*')
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 8 }), (segments) => {
      const path = segments.join('/')
      const stack = path.startsWith('/') ? [] : ['repo', 'app']
      for (const each of segments)
        if (each === '..') stack.pop()
        else if (each !== '.' && each !== '') stack.push(each)

      expect(matches('src', path)).toBe(`/${stack.join('/')}/`.startsWith('/repo/app/src/'))
    }),
  )
})
