import { expect, test } from 'vitest'
import { isHostDenied, isReadableHost, matchesHostList } from './host-list.ts'

test('a host is matched by its whole name, whatever its case', () => {
  expect(matchesHostList(['example.com'], 'EXAMPLE.com.')).toBe(true)
  expect(matchesHostList(['example.com'], 'api.example.com')).toBe(false)
  expect(matchesHostList(['example.com'], 'notexample.com')).toBe(false)
  expect(matchesHostList([], 'example.com')).toBe(false)
})

test('a star with a dot stands for subdomains and not for the domain itself', () => {
  expect(matchesHostList(['*.example.com'], 'a.b.example.com')).toBe(true)
  expect(matchesHostList(['*.example.com'], 'example.com')).toBe(false)
  expect(matchesHostList(['*.example.com'], '.example.com')).toBe(false)
  expect(matchesHostList(['*.example.com'], 'evilexample.com')).toBe(false)
  expect(matchesHostList(['*'], 'anything')).toBe(true)
})

test.each(['https://example.com', 'example.com/path', 'user@example.com', 'a*.com', '*.*', '', ' ', '.'])(
  '%j is no host: it allows nothing and denies everything',
  (entry) => {
    expect(isReadableHost(entry)).toBe(false)
    expect(matchesHostList([entry], 'example.com')).toBe(false)
    expect(isHostDenied([entry], 'example.com')).toBe(true)
  },
)

test('addresses are hosts too', () => {
  expect(matchesHostList(['127.0.0.1', '[::1]'], '[::1]')).toBe(true)
  expect(isHostDenied(['127.0.0.1'], '127.0.0.2')).toBe(false)
})
