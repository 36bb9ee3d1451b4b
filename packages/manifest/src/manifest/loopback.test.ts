import { expect, test } from 'vitest'
import { isLoopback } from './loopback.ts'

test('this machine is known by its address, not by how a name begins', () => {
  const isLocal = (url: string) => isLoopback(new URL(url).hostname)

  for (const url of [
    'http://localhost:1',
    'http://127.0.0.1',
    'http://127.1',
    'http://[::1]:3000',
    'http://2130706433',
  ])
    expect(isLocal(url), url).toBe(true)
  for (const url of [
    'http://127.example.com',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
    'http://10.0.0.1',
  ])
    expect(isLocal(url), url).toBe(false)
})
