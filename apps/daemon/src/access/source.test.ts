import { expect, test } from 'vitest'
import { sourceOf } from './source.ts'

test('an IPv4 address counts as itself, also when it is written as IPv6', () => {
  expect(['192.0.2.7', '::ffff:192.0.2.7', '::FFFF:192.0.2.7'].map(sourceOf)).toEqual(Array(3).fill('192.0.2.7'))
})

test('all addresses of one IPv6 subscriber count as one', () => {
  const same = ['2001:db8:0:1::1', '2001:db8::1:ffff:0:0:9', '2001:0DB8:0000:0001:1:2:3:4', '2001:db8:0:1::%eth0']

  expect(new Set(same.map(sourceOf))).toEqual(new Set(['2001:db8:0:1::/64']))
  expect(sourceOf('2001:db8:0:2::1')).toBe('2001:db8:0:2::/64')
  expect([sourceOf('::1'), sourceOf('fe80::1%eth0')]).toEqual(['0:0:0:0::/64', 'fe80:0:0:0::/64'])
  expect(sourceOf(undefined)).toBe('local')
})
