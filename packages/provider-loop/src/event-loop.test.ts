import { expect, test } from 'vitest'
import { ownIteration } from './event-loop.ts'

test('those who wait at the same time go on in their order, each in an iteration of its own', async () => {
  const order: string[] = []
  let iteration = 0
  const count = () => {
    iteration += 1
    if (order.length < 3) setImmediate(count)
  }
  setImmediate(count)
  const iterations = await Promise.all(
    ['first', 'second', 'third'].map(async (name) => {
      await ownIteration()
      order.push(name)
      return iteration
    }),
  )

  expect(order).toEqual(['first', 'second', 'third'])
  expect(new Set(iterations).size).toBe(3)
})
