import type { TaskView } from '@matrix/protocol/http'
import type { BoardColumn } from './board-columns.ts'

type ColumnId = BoardColumn['id']
type Moved = Pick<TaskView, 'status' | 'activity' | 'parentId'>

/** What moving a card does: start its agent, plan it again, or close it. */
export type BoardMove = 'start' | 'plan' | 'close'

/**
 * What it means to put a card into another column, or nothing where it means nothing. Whether work passed or failed is said by
 * those who did it, and an agent at work is stopped before it is moved.
 */
export function boardMove({ status, activity, parentId }: Moved, to: ColumnId): BoardMove | undefined {
  const isAtWork = status === 'in_progress' || (activity !== 'off' && activity !== 'stopped')
  if (isAtWork) return undefined
  if (to === 'in-progress') return status === 'closed' ? undefined : 'start'
  if (to === 'planned') return status === 'draft' || status === 'pending' ? undefined : 'plan'
  if (to === 'closed') return status === 'closed' || parentId === null ? undefined : 'close'
  return undefined
}
