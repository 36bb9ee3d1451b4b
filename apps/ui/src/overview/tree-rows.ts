import type { TaskView } from '@matrix/protocol/http'

type Tasks = Readonly<Record<string, TaskView>>

export type TreeRow = {
  task: TaskView
  depth: number
  hasChildren: boolean
  isOpen: boolean
  /** Shown only because something below it was looked for. */
  isBystander: boolean
}

/** Whether two rows look the same, though they were worked out at different times. Most do whenever something is told. */
export function isSameRow(one: TreeRow, other: TreeRow): boolean {
  return (
    one.task === other.task &&
    one.depth === other.depth &&
    one.hasChildren === other.hasChildren &&
    one.isOpen === other.isOpen &&
    one.isBystander === other.isBystander
  )
}

export const treeFilters = ['all', 'needs', 'working', 'open', 'favourites'] as const
export type TreeFilter = (typeof treeFilters)[number]

type RowsOptions = {
  collapsed: Readonly<Record<string, true>>
  favourites: Readonly<Record<string, true>>
  find?: string
  show?: TreeFilter
}

/** The rows of a tree from top to bottom. While something is looked for, everything above a find is open. */
export function treeRows(tasks: Tasks, rootId: string | null, options: RowsOptions): TreeRow[] {
  const { collapsed, find = '', show = 'all' } = options
  const wanted = find.trim() === '' && show === 'all' ? undefined : findWanted(tasks, options)
  const rows: TreeRow[] = []

  const visit = (id: string, depth: number): void => {
    const task = tasks[id]
    if (!task || (wanted && !wanted.has(id))) return
    const isOpen = wanted !== undefined || !collapsed[id]
    const hasChildren = task.children.some((child) => tasks[child] && (!wanted || wanted.has(child)))
    rows.push({ task, depth, hasChildren, isOpen, isBystander: wanted?.get(id) === 'above' })
    if (isOpen) for (const child of task.children) visit(child, depth + 1)
  }

  for (const id of rootsOf(tasks, rootId)) visit(id, 0)
  return rows
}

/** The root first; then whatever stands in no tree, so that nothing is ever out of sight. */
function rootsOf(tasks: Tasks, rootId: string | null): string[] {
  const orphans = Object.values(tasks).filter(({ id, parentId }) => id !== rootId && !(parentId && tasks[parentId]))
  return [...(rootId && tasks[rootId] ? [rootId] : []), ...orphans.map(({ id }) => id)]
}

function findWanted(
  tasks: Tasks,
  { find = '', show = 'all', favourites }: RowsOptions,
): Map<string, 'found' | 'above'> {
  const words = find.trim().toLowerCase().split(/\s+/)
  const wanted = new Map<string, 'found' | 'above'>()
  for (const task of Object.values(tasks)) {
    if (!isShown(task, show, favourites) || !words.every((word) => textOf(task).includes(word))) continue
    wanted.set(task.id, 'found')
    for (let above = task.parentId; above && !wanted.has(above); above = tasks[above]?.parentId ?? null)
      wanted.set(above, 'above')
  }
  return wanted
}

function textOf({ id, title, branch, doing }: TaskView): string {
  return `${title} ${branch ?? ''} ${doing ?? ''} ${id}`.toLowerCase()
}

function isShown(task: TaskView, show: TreeFilter, favourites: Readonly<Record<string, true>>): boolean {
  if (show === 'all') return true
  if (show === 'favourites') return favourites[task.id] === true
  if (task.folder) return false
  if (show === 'needs') return task.needs.length > 0
  if (show === 'working') return task.activity === 'working' || task.activity === 'starting'
  return task.status !== 'passed' && task.status !== 'closed'
}
