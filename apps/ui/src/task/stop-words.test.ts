import { expect, test } from 'vitest'
import { describeStop } from './stop-words.ts'

test('a stop says what was kept', () => {
  expect(describeStop({ stopped: 3, pending: 2, uncommitted: 1 })).toEqual({
    title: 'Stopped 3 agents',
    detail: 'The conversation is kept · 1 file not committed yet stays in the worktree · 2 messages still wait',
  })
})

test('a stop of what was not running does not claim to have stopped anything', () => {
  expect(describeStop({ stopped: 0, pending: 0, uncommitted: undefined }).title).toBe('Nothing was running')
})
