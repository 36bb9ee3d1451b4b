import { feedPath, routes } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { feedPlace, places } from './places.ts'

test('every operation lives where the contract says', () => {
  const promised = Object.entries(routes).map(([operation, { method, path }]) => [operation, `${method} ${path}`])

  expect(places).toEqual(Object.fromEntries(promised))
  expect(feedPlace).toBe(feedPath)
})
