import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findFixedStart, isCommandAllowed, isCommandDenied, parseCommandPattern } from './command-pattern.ts'

test('a pattern speaks about the whole command', () => {
  expect(isCommandAllowed(['git status'], 'git status')).toBe(true)
  expect(isCommandAllowed(['git status'], 'git status; rm -rf .')).toBe(false)
  expect(isCommandAllowed(['git (status|log)( .*)?'], 'git log --oneline')).toBe(true)
  expect(isCommandAllowed([], 'git status')).toBe(false)
  expect(isCommandDenied(['git push .*'], 'git push origin')).toBe(true)
  expect(isCommandDenied(['git push .*'], 'git status')).toBe(false)
})

test('a line break in a word does not get a command past a list', () => {
  expect(isCommandDenied(['rm .*'], 'rm -rf x\ntrue')).toBe(true)
  expect(isCommandAllowed(['git commit -m .*'], 'git commit -m a\nb')).toBe(true)
})

test.each([
  ['rm .*', 'rm '],
  ['git push.*', 'git push'],
  ['rms?', 'rm'],
  ['a|b', ''],
  ['.*curl.*', ''],
  ['(?i)rm', ''],
])('every match of %s begins with %j', (pattern, start) => {
  expect(findFixedStart(pattern)).toBe(start)
})

test.each([
  'a(?=b)',
  '(a)\\1',
  '(',
  'a)',
  '[a',
  '[z-a]',
  '*',
  'a{5,2}',
  'a\\',
  '\\y',
  '\\xZZ',
  '(?x)a',
  '((a{1000}){1000}){1000}',
  '('.repeat(10_000),
])('%s is not a pattern: it allows nothing and denies everything', (pattern) => {
  expect(parseCommandPattern(pattern)).toEqual({ reason: expect.stringMatching(/\w/) })
  expect(isCommandAllowed([pattern], 'ls')).toBe(false)
  expect(isCommandDenied([pattern], 'ls')).toBe(true)
})

test.each([
  ['(?i)GIT status', 'git STATUS', true],
  ['(?i:git) status', 'GIT STATUS', false],
  ['a(?i)b(?-i)c', 'aBc', true],
  ['a(?i)b(?-i)c', 'aBC', false],
  ['(?s).*', 'a\nb', true],
  ['(?-s:.*)', 'a\nb', false],
  ['(?m)a$\\n^b', 'a\nb', true],
  ['\\Aa\\z', 'a', true],
  ['(?P<verb>get|put) \\w+', 'put name', true],
  ['(?<verb>get|put)\\b.*', 'getter', false],
  ['get\\B.*', 'getter', true],
  ['[^;|&]+', 'ls -l | sh', false],
  ['[]x^-]+', ']-^x', true],
  ['[\\d\\-.]{2,}?', '4.2-1', true],
  ['a{2}', 'aa', true],
  ['a{2}', 'aaa', false],
  ['\\x2f\\x{1F600}\\x{e9}', '/😀é', true],
  ['(a*)*', 'aaab', false],
  ['', '', true],
])('%s over %j: %s', (pattern, command, expected) => {
  expect(isCommandAllowed([pattern], command)).toBe(expected)
})

test('the parser and matcher agree with the regular expressions of the language, where both exist', () => {
  const atom = fc.constantFrom('a', 'b', ' ', '.', '[ab]', '[^a]', '[a-c ]', '\\.', '\\s', '\\d', '-')
  const repeated = fc.tuple(atom, fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,2}', '{1,}', '*?')).map(joined)
  const plain = fc.array(fc.oneof(repeated, fc.constantFrom('\\b', '^', '$')), { maxLength: 3 }).map(joined)
  // Nothing without end stands inside a repetition: the other side would need minutes for some of those.
  const group = fc
    .tuple(
      fc.constantFrom('(', '(?:'),
      fc.array(plain, { minLength: 1, maxLength: 3 }),
      fc.constantFrom('', '?', '{2}'),
    )
    .map(([open, options, range]) => `${open}${options.join('|')})${range}`)
  const pattern = fc.array(fc.oneof(plain, group, fc.constant('|')), { maxLength: 4 }).map(joined)
  const command = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', '.', '-', '1', '\n'), maxLength: 7 })

  fc.assert(
    fc.property(pattern, command, (text, candidate) => {
      expect(isCommandAllowed([text], candidate)).toBe(new RegExp(`^(?:${text})$`, 'su').test(candidate))
    }),
    { numRuns: 300 },
  )
})

test('patterns that make other matchers hang end soon', () => {
  const command = `${'a'.repeat(10_000)}!`
  for (const pattern of ['(a+)+', '(a|a)*b', '(a|aa)+', '(.*)*x', '.*.*.*.*=.*', '(a?){300}b']) {
    const started = process.cpuUsage()
    expect(isCommandAllowed([pattern], command)).toBe(false)
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(5_000)
  }
})

function joined(parts: readonly string[]): string {
  return parts.join('')
}
