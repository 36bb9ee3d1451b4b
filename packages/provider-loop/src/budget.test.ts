import { nothingSpent, type Spent } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { createBudget, type Reservation, type Wanted } from './budget.ts'

const never = new AbortController().signal

test('two agents do not set the same dollar aside: the second waits until the first has settled', async () => {
  const budget = createBudget({ limits: { usd: 1 }, scope: 'tree' })
  const first = granted(await budget.reserve(dollars(0.8), never))
  const second = budget.reserve(dollars(0.8), never)
  const order: string[] = []
  void second.then(() => order.push('granted'))
  await Promise.resolve()
  order.push('settled')
  first.settle(cost(0.1))

  expect(granted(await second).granted.usd).toBe(0.8)
  expect(order).toEqual(['settled', 'granted'])
})

test('the overshoot of any number of agents is at most one turn', async () => {
  const budget = createBudget({ limits: { usd: 1 } })
  let spent = 0
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      for (;;) {
        const reservation = await budget.reserve(dollars(0.3), new AbortController().signal)
        if (reservation.refused) return
        await Promise.resolve()
        spent += 0.3
        reservation.settle(cost(0.3))
      }
    }),
  )

  expect(spent).toBeGreaterThanOrEqual(1)
  expect(spent).toBeLessThan(1.3)
})

test('an agent that is stopped while it waits for money leaves no listener behind', async () => {
  const budget = createBudget({ limits: { usd: 1 } })
  granted(await budget.reserve(dollars(1), never))
  const controller = new AbortController()
  const waiting = budget.reserve(dollars(1), controller.signal)
  controller.abort()

  expect(granted(await waiting).granted.usd).toBe(0)
})

test('settling twice counts once', async () => {
  const reservation = granted(await createBudget({ limits: { usd: 1 } }).reserve(dollars(0.5), never))
  reservation.settle(cost(0.2))

  expect(reservation.settle(cost(0.2))).toMatchObject([{ kind: 'usd', spent: 0.2 }])
})

test('a budget of any kind is kept, and one that has less than is wanted gives its rest', async () => {
  const budget = createBudget({ limits: { tokens: 1000, minutes: 2 } })
  const first = granted(await budget.reserve({ usd: undefined, tokens: 5000, minutes: 0 }, never))
  expect(first.granted).toEqual({ usd: 0, tokens: 1000, minutes: 0 })
  expect(first.settle({ ...nothingSpent, tokens: 400, minutes: 2.5 })).toMatchObject([
    { kind: 'tokens', spent: 400, limit: 1000 },
    { kind: 'minutes', spent: 2.5, limit: 2 },
  ])

  expect(await budget.reserve({ usd: 0, tokens: 1, minutes: 0 }, never)).toMatchObject({
    refused: true,
    reason: 'used up',
    kind: 'minutes',
  })
})

test('dollars that cannot be counted are refused where there is a budget in dollars, and only there', async () => {
  const wanted = { usd: undefined, tokens: 10, minutes: 0 }

  expect(await createBudget({ limits: { usd: 1 } }).reserve(wanted, never)).toMatchObject({
    refused: true,
    reason: 'unpriced',
  })
  expect((await createBudget({ limits: { tokens: 100 } }).reserve(wanted, never)).refused).toBe(false)
})

function dollars(usd: number): Wanted {
  return { usd, tokens: 0, minutes: 0 }
}

function cost(usd: number): Spent {
  return { ...nothingSpent, usd }
}

function granted(answer: Awaited<ReturnType<ReturnType<typeof createBudget>['reserve']>>): Reservation {
  if (answer.refused) throw new Error('refused')
  return answer
}
