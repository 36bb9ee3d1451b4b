import type { TaskView } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { boardColumns } from './board-columns.ts'

test('every task is in exactly one column, and folders are in none', () => {
  const statuses = ['draft', 'pending', 'in_progress', 'passed', 'failed', 'closed'] as const
  const tasks = [...statuses.map((status) => task(status, { status })), task('folder', { folder: true })]

  expect(boardColumns(tasks).map((column) => [column.id, column.tasks.map(({ id }) => id)])).toEqual([
    ['planned', ['draft', 'pending']],
    ['in-progress', ['in_progress']],
    ['failed', ['failed']],
    ['passed', ['passed']],
    ['closed', ['closed']],
  ])
})

test('what needs somebody comes first, then what moved last', () => {
  const tasks = [
    task('old', { lastAt: '2026-01-01T00:00:00Z' }),
    task('new', { lastAt: '2026-01-02T00:00:00Z' }),
    task('asking', { needs: ['question'] }),
  ]

  expect(boardColumns(tasks)[1]?.tasks.map(({ id }) => id)).toEqual(['asking', 'new', 'old'])
})

function task(id: string, more: Partial<TaskView>): TaskView {
  return { id, status: 'in_progress', needs: [], lastAt: null, updatedAt: '2026-01-01T00:00:00Z', ...more } as TaskView
}
