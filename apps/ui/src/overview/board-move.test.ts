import { canFollow, TaskStatus } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { boardMove } from './board-move.ts'

const outcomes = { start: 'in_progress', plan: 'pending', close: 'closed' } as const
const columns = ['planned', 'in-progress', 'failed', 'passed', 'closed'] as const

test('only moves that the tree allows are offered', () => {
  const moves = TaskStatus.options.flatMap((status) =>
    columns.flatMap((to) => {
      const move = boardMove({ status, activity: 'off', parentId: 'root' }, to)
      return move ? [{ status, to: outcomes[move] }] : []
    }),
  )

  expect(moves.filter(({ status, to }) => !canFollow(status, to))).toEqual([])
  expect(moves.map(({ status, to }) => `${status} > ${to}`)).toEqual([
    'draft > in_progress',
    'draft > closed',
    'pending > in_progress',
    'pending > closed',
    'passed > pending',
    'passed > in_progress',
    'passed > closed',
    'failed > pending',
    'failed > in_progress',
    'failed > closed',
    'closed > pending',
  ])
})

test('an agent at work is not moved, and the root is never closed', () => {
  expect(columns.map((to) => boardMove({ status: 'failed', activity: 'working', parentId: 'root' }, to))).toEqual(
    columns.map(() => undefined),
  )
  expect(boardMove({ status: 'failed', activity: 'off', parentId: null }, 'closed')).toBeUndefined()
})
