import { expect, test } from 'vitest'
import { canFollow, nextStatuses, TaskNode, TaskStatus } from './task.ts'

test('a running task can end or start over, but cannot be closed', () => {
  expect(TaskStatus.options.filter((status) => canFollow('in_progress', status))).toEqual([
    'pending',
    'passed',
    'failed',
  ])
})

test('a closed task only ever starts over', () => {
  expect(nextStatuses.closed).toEqual(['pending'])
})

test('every status can be reached from draft, and closed from every status', () => {
  for (const status of TaskStatus.options) {
    expect(reachableFrom('draft'), status).toContain(status)
    expect(reachableFrom(status), status).toContain('closed')
  }
})

test('an id that is a path, an option or a prototype name is not a task id', () => {
  for (const id of ['../../etc/passwd', '-rf', '__proto__', '01kmab1234abcdefghjkmnpqrs', `${node.id}\n`, ''])
    expect(TaskNode.safeParse({ ...node, id }).success, id).toBe(false)

  expect(TaskNode.parse(node)).toEqual(node)
})

function reachableFrom(start: TaskStatus): Set<TaskStatus> {
  const seen = new Set<TaskStatus>([start])
  for (const status of seen) for (const next of nextStatuses[status]) seen.add(next)
  return seen
}

const node: TaskNode = {
  id: '01KMAB1234ABCDEFGHJKMNPQRS',
  title: 'Parse dates',
  description: '',
  status: 'draft',
  branch: null,
  parentId: null,
  children: [],
  worktreePath: null,
  costUsd: 0,
  editedBy: 'user',
  persistent: false,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
}
