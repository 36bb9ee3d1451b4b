import type { TaskView } from '@matrix/protocol/http'

export type BoardColumn = {
  id: 'planned' | 'in-progress' | 'failed' | 'passed' | 'closed'
  title: string
  tasks: TaskView[]
}

const columns: { id: BoardColumn['id']; title: string; statuses: TaskView['status'][] }[] = [
  { id: 'planned', title: 'Planned', statuses: ['draft', 'pending'] },
  { id: 'in-progress', title: 'In progress', statuses: ['in_progress'] },
  { id: 'failed', title: 'Failed', statuses: ['failed'] },
  { id: 'passed', title: 'Passed', statuses: ['passed'] },
  { id: 'closed', title: 'Closed', statuses: ['closed'] },
]

/** Every task that is not a folder, in the column of its status: first what needs somebody, then what moved last. */
export function boardColumns(tasks: readonly TaskView[]): BoardColumn[] {
  return columns.map(({ id, title, statuses }) => ({
    id,
    title,
    tasks: tasks.filter((task) => !task.folder && statuses.includes(task.status)).toSorted(byUrgency),
  }))
}

function byUrgency(one: TaskView, other: TaskView): number {
  return other.needs.length - one.needs.length || movedAt(other).localeCompare(movedAt(one))
}

function movedAt({ lastAt, updatedAt }: TaskView): string {
  return lastAt ?? updatedAt
}
