import { expect, test } from 'vitest'
import { createLimiter } from './limiter.ts'

const never = new AbortController().signal

test('no more are let through than may, and the others in the order they came', async () => {
  const limiter = createLimiter(2)
  const entered: number[] = []
  const leave = Array.from({ length: 5 }, (_, index) =>
    limiter.enter(never).then((done) => {
      entered.push(index)
      return done
    }),
  )
  await settled()
  expect([entered, limiter.active, limiter.waiting]).toEqual([[0, 1], 2, 3])
  for (const done of leave) {
    ;(await done)()
    await settled()
    expect(limiter.active).toBeLessThanOrEqual(2)
  }

  expect([entered, limiter.active, limiter.waiting]).toEqual([[0, 1, 2, 3, 4], 0, 0])
})

test('who comes again waits behind those who were there before', async () => {
  const limiter = createLimiter(1)
  const order: string[] = []
  const visit = async (name: string) => {
    const leave = await limiter.enter(never)
    order.push(name)
    await settled()
    leave()
  }
  const greedy = async () => {
    await visit('greedy')
    await visit('greedy again')
  }
  await Promise.all([greedy(), visit('patient'), visit('late')])

  expect(order).toEqual(['greedy', 'patient', 'late', 'greedy again'])
})

test('who gives up waiting takes no place, and a place that is given back twice is one place', async () => {
  const limiter = createLimiter(1)
  const leave = await limiter.enter(never)
  const impatient = new AbortController()
  const given = limiter.enter(impatient.signal)
  const next = limiter.enter(never)
  impatient.abort(new Error('Enough.'))
  await expect(given).rejects.toThrow('Enough.')
  leave()
  leave()
  await next

  expect([limiter.active, limiter.waiting]).toEqual([1, 0])
})

test('a higher limit lets those in who wait', async () => {
  const limiter = createLimiter(0)
  const waiting = [limiter.enter(never), limiter.enter(never)]
  limiter.setLimit(2)
  await Promise.all(waiting)

  expect(limiter.active).toBe(2)
})

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
