import { expect, test } from 'vitest'
import { openPlaces, openShared, openTurns } from './turns.ts'

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

test('who asks while work is running gets the next run, and shares it; a failure is of that run alone', async () => {
  const ends: ((how: 'well' | 'badly') => void)[] = []
  const shared = openShared(
    () => new Promise((resolve, reject) => ends.push((how) => (how === 'well' ? resolve() : reject(new Error('bad'))))),
  )
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const first = shared('a')
  await turn()
  const second = shared('a')
  const third = shared('a')
  await turn()
  expect(ends).toHaveLength(1)

  ends[0]?.('badly')
  await expect(first).rejects.toThrow('bad')
  await turn()
  expect(ends).toHaveLength(2)
  ends[1]?.('well')
  await Promise.all([second, third])

  const fourth = shared('a')
  await turn()
  expect(ends).toHaveLength(3)
  ends[2]?.('well')
  await fourth
})
