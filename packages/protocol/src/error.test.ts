import { expect, test } from 'vitest'
import { errors, MatrixError } from './error.ts'

test('an error carries its code, its HTTP status and what to do next', () => {
  const error = new MatrixError('TASK_UNKNOWN', 'No task 01ABC')

  expect(error.toJSON()).toEqual({ code: 'TASK_UNKNOWN', message: 'No task 01ABC', hint: errors.TASK_UNKNOWN.hint })
  expect(error.status).toBe(404)
})

test('a hint given at the place of failure replaces the general one, and the cause is kept', () => {
  const cause = new Error('ENOENT')
  const error = new MatrixError('DOCUMENT_UNREADABLE', 'x.json is missing', { hint: 'Create it.', cause })

  expect(error.hint).toBe('Create it.')
  expect(error.cause).toBe(cause)
})

test('every code has an instruction and a status that says failure', () => {
  for (const [code, { status, hint }] of Object.entries(errors)) {
    expect(hint, code).toMatch(/^[A-Z].*\.$/)
    expect(status, code).toBeGreaterThanOrEqual(400)
  }
})
