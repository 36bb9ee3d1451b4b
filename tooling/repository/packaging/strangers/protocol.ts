import { canFollow, DurableEvent, isPersistedByEmitEvent, type LiveEvent, MatrixError } from '@matrix/protocol'

function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}

const taskId = '01K6Z0M3S3Q8T4V5W6X7Y8Z9AB'
const signal: LiveEvent = { type: 'agent_idle', taskId, ts: '2026-01-01T00:00:00.000Z' }
const error: Error = new MatrixError('TASK_UNKNOWN', `No such task: ${taskId}`)

check(!DurableEvent.safeParse({ type: 'never_heard_of' }).success, 'An unknown event was accepted.')
check(!isPersistedByEmitEvent(signal), 'A signal is persisted.')
check(canFollow('draft', 'pending') && !canFollow('passed', 'draft'), 'The statuses are out of order.')
check(error.name === 'MatrixError' && error.message.includes(taskId), 'The error has lost its words.')
