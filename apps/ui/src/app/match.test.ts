import { expect, test } from 'vitest'
import { matchScore } from './match.ts'

test('a word that starts the text beats one inside it, and that one beats scattered letters', () => {
  const scores = ['Stop the agent', 'Do not stop', 'nonstop', 'sit on top'].map(
    (text) => matchScore(text, 'stop') ?? -1,
  )

  expect(scores).toEqual([...scores].sort((one, other) => other - one))
  expect(new Set(scores).size).toBe(4)
})

test('every word that was typed has to be found', () => {
  expect(matchScore('Go to the inbox', 'inbox go')).toBeGreaterThan(0)
  expect(matchScore('Go to the inbox', 'inbox xyz')).toBeUndefined()
})

test('nothing typed matches everything', () => {
  expect(matchScore('anything', '  ')).toBeDefined()
})

test('the scattered letters of a short word are no match', () => {
  expect(matchScore('Devices sign in', 'dis')).toBeUndefined()
})
