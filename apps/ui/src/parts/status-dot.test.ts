import { expect, test } from 'vitest'
import { standingOf } from './status-dot.tsx'

const task = { status: 'in_progress', activity: 'working', needs: [] } as const

test('what a person must do comes before what the agent does, and that before the status', () => {
  expect(standingOf({ ...task, needs: ['question'] }).label).toBe('Has a question')
  expect(standingOf({ ...task, needs: [] }).label).toBe('Working')
  expect(standingOf({ ...task, activity: 'off', status: 'draft', needs: [] }).label).toBe('Draft')
})

test('an agent that waits after its work is done does not hide that it passed', () => {
  expect(standingOf({ ...task, activity: 'waiting', needs: [] }).label).toBe('Waiting')
  expect(standingOf({ ...task, activity: 'waiting', status: 'passed', needs: [] }).label).toBe('Passed')
})

test('only what really runs looks alive', () => {
  expect(standingOf({ ...task, needs: [] }).isAlive).toBe(true)
  expect(standingOf({ ...task, activity: 'off', needs: [] }).isAlive).toBe(false)
  expect(standingOf({ ...task, activity: 'blocked', needs: [] }).isAlive).toBe(false)
})
