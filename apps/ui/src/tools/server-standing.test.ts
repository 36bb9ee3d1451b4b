import { expect, test } from 'vitest'
import { claimsOf } from './server-standing.ts'

const box = { isActive: true, reason: null }
const server = { state: 'verified', isLocked: true, isSandboxed: true, transport: 'stdio', digest: 'sha256:x' } as const

test('only what was compared with a lock is called verified', () => {
  expect(labels(server)).toEqual(['Verified', 'Pinned', 'In a box'])
  expect(labels({ ...server, isLocked: false })).toEqual(['Names match', 'Not pinned', 'In a box'])
  expect(labels({ ...server, state: 'unchecked' })[0]).toBe('Not checked yet')
})

test('a server outside of the sandbox is never shown as boxed', () => {
  expect(labels({ ...server, isSandboxed: false })[2]).toBe('No sandbox')
  expect(labels({ ...server, isSandboxed: false, transport: 'http' })[2]).toBe('Elsewhere')
})

function labels(given: Parameters<typeof claimsOf>[0]): string[] {
  return claimsOf(given, box).map(({ label }) => label)
}
