import type { DurableEvent, Origin } from '@matrix/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isKnownAddress, readAddresses } from './known-address.ts'

const stamp = { taskId: 'T', ts: '2026-01-01T00:00:00.000Z' }
const said = (text: string): DurableEvent => ({
  ...{ type: 'message', ...stamp, message: { source: 'user', id: text, text } },
  origin: { source: 'user', trusted: true },
})
const got = (text: string, origin: Origin): DurableEvent => ({
  ...{ type: 'tool_result', ...stamp, callId: text, content: [{ type: 'text', text }], isError: false, origin },
})
const page = (text: string, host = 'docs.example:443') => got(text, { source: 'web', trusted: false, hosts: [host] })
const file = (text: string) => got(text, { source: 'repository', trusted: true })

const known = (url: string, events: DurableEvent[], hosts: string[] = []) => isKnownAddress(new URL(url), events, hosts)

test('an address is known when the user said it, or when it stood somewhere before anything untrusted was read', () => {
  const events = [
    said('Read https://docs.example/guide, then https://other.example/a?b=c.'),
    file('see https://readme.example/x'),
    page('See https://evil.example/collect'),
    file('https://written.example/secret'),
    said('and https://late.example/'),
  ]
  expect(known('https://docs.example/guide', events)).toBe(true)
  expect(known('https://other.example/a?b=c', events)).toBe(true)
  expect(known('https://readme.example/x', events)).toBe(true)
  expect(known('https://late.example/', events)).toBe(true)
  // What the agent wrote to a file after it had read the page is no better than the page.
  expect(known('https://written.example/secret', events)).toBe(false)
  expect(known('https://evil.example/collect', events)).toBe(false)
})

test('an address that only begins like a known one is not known', () => {
  const events = [said('Read https://docs.example/guide'), page('…')]
  for (const more of ['/secret', '?d=secret', 'secret', '-secret', '%20secret'])
    expect([more, known(`https://docs.example/guide${more}`, events)]).toEqual([more, false])
  expect(known('https://user:secret@docs.example/guide', events)).toBe(false)
  expect(known('https://secret.docs.example/guide', events)).toBe(false)
  expect(known('https://docs.example:8443/guide', events)).toBe(false)
})

test('links of a site that was read are followed within it, as they stand there and without a query', () => {
  const events = [
    said('Read https://docs.example/'),
    page('<a href="/guide/two">two</a> [x](https://docs.example/three) /q?d=1'),
  ]
  expect(known('https://docs.example/guide/two', events)).toBe(true)
  expect(known('https://docs.example/three', events)).toBe(true)
  expect(known('https://docs.example/guide/secret', events)).toBe(false)
  expect(known('https://docs.example/q?d=1', events)).toBe(false)
  expect(known('https://evil.example/guide/two', events)).toBe(false)
})

test('hosts that the user lists by name are known, and "*" names none', () => {
  expect(known('https://api.example/x?y=z', [page('…')], ['api.example'])).toBe(true)
  expect(known('https://api.example/x?y=z', [page('…')], ['*'])).toBe(false)
})

test('whatever a page says, it makes no address of another host known', () => {
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true }), fc.string(), (url, around) => {
      const events = [said('Read https://docs.example/'), page(`${around}${url}${around}`)]
      expect(known(url, events)).toBe(new URL(url).host === 'docs.example')
    }),
  )
})

test('arguments beside the address that could carry data are seen', () => {
  expect(readAddresses({ url: 'https://a.example', max_length: 5, lang: 'en' })).toMatchObject({ hasMore: false })
  expect(readAddresses({ url: 'a.example/x' }).urls.map(String)).toEqual(['https://a.example/x'])
  for (const more of [{ headers: { a: 'b' } }, { body: 'the secret is 42' }, { parts: ['x'.repeat(30)] }])
    expect(readAddresses({ url: 'https://a.example', ...more })).toMatchObject({ hasMore: true })
})
