import { expect, test } from 'vitest'
import { createBudget, type Reservation } from './budget.ts'

const never = new AbortController().signal

test('two agents do not set the same dollar aside: the second waits until the first has settled', async () => {
  const budget = createBudget({ budgetUsd: 1, scope: 'tree' })
  const first = granted(await budget.reserve(0.8, never))
  const second = budget.reserve(0.8, never)
  const order: string[] = []
  void second.then(() => order.push('granted'))
  await Promise.resolve()
  order.push('settled')
  first.settle(0.1)

  expect(granted(await second).grantedUsd).toBe(0.8)
  expect(order).toEqual(['settled', 'granted'])
})

test('the overshoot of any number of agents is at most one turn', async () => {
  const budget = createBudget({ budgetUsd: 1 })
  let spent = 0
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      for (;;) {
        const reservation = await budget.reserve(0.3, new AbortController().signal)
        if (reservation.refused) return
        await Promise.resolve()
        spent += 0.3
        reservation.settle(0.3)
      }
    }),
  )

  expect(spent).toBeGreaterThanOrEqual(1)
  expect(spent).toBeLessThan(1.3)
})

test('an agent that is stopped while it waits for money leaves no listener behind', async () => {
  const budget = createBudget({ budgetUsd: 1 })
  granted(await budget.reserve(1, never))
  const controller = new AbortController()
  const waiting = budget.reserve(1, controller.signal)
  controller.abort()

  expect(granted(await waiting).grantedUsd).toBe(0)
})

test('settling twice counts once', async () => {
  const reservation = granted(await createBudget({ budgetUsd: 1 }).reserve(0.5, never))
  reservation.settle(0.2)

  expect(reservation.settle(0.2).costUsd).toBe(0.2)
})

function granted(answer: Awaited<ReturnType<ReturnType<typeof createBudget>['reserve']>>): Reservation {
  if (answer.refused) throw new Error('refused')
  return answer
}
