import { expect, test } from 'vitest'
import { openPlaces, openTurns } from './turns.ts'

test('work of one name is done in order, also after a failure, and other names are not held up', async () => {
  const inTurn = openTurns()
  const done: string[] = []
  const slow = inTurn('a', async () => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    done.push('slow')
    throw new Error('failed')
  })
  const next = inTurn('a', async () => done.push('next'))
  await inTurn('b', async () => done.push('other'))
  await expect(slow).rejects.toThrow('failed')
  await next

  expect(done).toEqual(['other', 'slow', 'next'])
})

test('never more run at once than there are places, and all get their turn', async () => {
  const inPlace = openPlaces(2)
  let running = 0
  let most = 0
  const work = async () => {
    running += 1
    most = Math.max(most, running)
    await new Promise((resolve) => setTimeout(resolve, 2))
    running -= 1
    if (Math.random() < 0.3) throw new Error('failed')
  }
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => inPlace(work)))

  expect(results).toHaveLength(20)
  expect(most).toBe(2)
})
