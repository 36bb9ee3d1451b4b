import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileGlob, matchesGlob } from './glob.ts'

test('a star crosses slashes, a question mark stands for one character', () => {
  expect(matchesGlob('@git-*', '@git-x/tool')).toBe(true)
  expect(matchesGlob('@*/status', '@git/status')).toBe(true)
  expect(matchesGlob('fs_?ead', 'fs_read')).toBe(true)
  expect(matchesGlob('fs_?ead', 'fs_ead')).toBe(false)
  expect(matchesGlob('?', '😀')).toBe(true)
})

test('brackets and braces count only beside a wildcard', () => {
  expect(matchesGlob('[ab]', 'a')).toBe(false)
  expect(matchesGlob('[ab]', '[ab]')).toBe(true)
  expect(matchesGlob('[ab]*', 'axe')).toBe(true)
  expect(matchesGlob('[!ab]*', 'axe')).toBe(false)
  expect(matchesGlob('[]x]*', ']')).toBe(true)
  expect(matchesGlob('[a-c]*', 'b')).toBe(true)
  expect(matchesGlob('{get,list{_all,}}_*', 'list_all_x')).toBe(true)
  expect(matchesGlob('{get,list}_*', 'put_x')).toBe(false)
})

test('two stars between slashes also stand for no folder at all', () => {
  const matches = (pattern: string, text: string) => compileGlob(pattern)?.(text)

  expect(matches('a/**/b', 'a/b')).toBe(true)
  expect(matches('a/**/**/b', 'a/x/y/b')).toBe(true)
  expect(matches('a/**/b', 'ab')).toBe(false)
  expect(matches('a/**', 'a/x/y')).toBe(true)
  expect(matches('a/**', 'a')).toBe(false)
  expect(matches('**/b', 'b')).toBe(true)
  expect(matches('**/b', 'x/b')).toBe(true)
  expect(matches('**/b', 'xb')).toBe(false)
  expect(matches('**', 'anything/at all')).toBe(true)
})

test.each(['*[', '*[z-a]', '*{a', '*a}', '*\\'])('%s is not well-formed and matches only itself', (pattern) => {
  expect(compileGlob(pattern)).toBeUndefined()
  expect(matchesGlob(pattern, pattern)).toBe(true)
  expect(matchesGlob(pattern, 'a')).toBe(false)
})

test('a pattern without a wildcard matches exactly itself', () => {
  const plain = fc.string({ unit: fc.constantFrom('a', '[', ']', '{', '}', ',', '!', '\\', '/', '😀', '\ud800') })
  fc.assert(
    fc.property(
      plain,
      plain,
      (pattern, text) => matchesGlob(pattern, text) === (pattern === text) && matchesGlob(text, text),
    ),
  )
})

test('the matcher agrees with a slow and obvious one', () => {
  const piece = fc.constantFrom(
    ...[
      ['a', 'a'],
      ['b', 'b'],
      ['/', '/'],
      ['?', '[^]'],
      ['*', '[^]*'],
      ['[ab]', '[ab]'],
      ['[!a]', '[^a]'],
      ['{a,b/}', '(?:a|b/)'],
      ['\\*', '\\*'],
    ],
  )
  const pattern = fc
    .array(piece, { maxLength: 8 })
    .filter((pieces) => !/\*{2}/.test(pieces.map(([glob]) => glob).join('')))
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*'), maxLength: 8 })

  fc.assert(
    fc.property(pattern, text, (pieces, candidate) => {
      const slow = new RegExp(`^(?:${pieces.map(([, regex]) => regex).join('')})$`)
      expect(compileGlob(pieces.map(([glob]) => glob).join(''))?.(candidate)).toBe(slow.test(candidate))
    }),
    { numRuns: 500 },
  )
})

test('no pattern makes the matcher go back: the most hostile end soon over ten thousand characters', () => {
  const text = 'a'.repeat(10_000)
  for (const pattern of [
    '*a*a*a*a*b',
    `${'*a'.repeat(300)}b`,
    `${'{a,aa}'.repeat(300)}*b`,
    `${'?*'.repeat(40)}b`,
    `${'**/'.repeat(50)}*b`,
  ]) {
    const started = process.cpuUsage()
    expect(matchesGlob(pattern, text)).toBe(false)
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(5_000)
  }
})

test('a pattern too big to be meant is not well-formed', () => {
  expect(compileGlob(`${'a'.repeat(10_000)}*`)).toBeUndefined()
  expect(compileGlob(`${'{'.repeat(10_000)}*`)).toBeUndefined()
  expect(compileGlob(`${'{'.repeat(17)}a${'}'.repeat(17)}*`)).toBeUndefined()
})
